"""Conan 2: conan create tools/packaging/conan

Compiles the tree that it lies in.
"""

import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, load
from conan.tools.gnu import PkgConfigDeps
from conan.tools.layout import basic_layout
from conan.tools.meson import Meson, MesonToolchain

required_conan_version = '>=2.8'
PROJECT = os.path.join('..', '..', '..')


class Leat(ConanFile):
    name = 'leat'
    description = 'Coroutine runtime with bounded queues, structured shutdown and io_uring record readers'
    license = 'BSL-1.0'
    topics = ('coroutines', 'asio', 'io-uring', 'queue', 'tfrecord')
    package_type = 'library'
    settings = 'os', 'arch', 'compiler', 'build_type'
    options = {
        'shared': [True, False],
        'fPIC': [True, False],
        'runtime_only': [True, False],
        'io_uring': [True, False],
    }
    default_options = {'shared': False, 'fPIC': True, 'runtime_only': False, 'io_uring': True}
    implements = ['auto_shared_fpic']

    def set_version(self):
        text = load(self, os.path.join(self.recipe_folder, PROJECT, 'meson.build'))
        self.version = re.search(r"^  version: '([\d.]+)'", text, re.MULTILINE)[1]

    def export_sources(self):
        project = os.path.join(self.recipe_folder, PROJECT)
        for pattern in ('meson.build', 'meson_options.txt', 'LICENSE', 'include/*', 'lib/*', 'tools/gdb/*'):
            copy(self, pattern, project, self.export_sources_folder)

    def config_options(self):
        if self.settings.os != 'Linux':
            raise ConanInvalidConfiguration('leat runs on Linux only')

    def configure(self):
        if self.options.runtime_only:
            del self.options.io_uring

    def validate(self):
        check_min_cppstd(self, 20)

    def requirements(self):
        # In the public headers: a program must use the version that the library was compiled with.
        self.requires('asio/[>=1.22.1 <2]', transitive_headers=True)
        if not self.options.runtime_only:
            self.requires('isa-l/[>=2.30 <3]')
            self.requires('nlohmann_json/[>=3.11 <4]')
            self.requires('protozero/[>=1.7 <2]')
            self.requires('zlib/[>=1.2.13 <2]')
            if self.options.io_uring:
                self.requires('liburing/[>=2.3 <3]')

    def build_requirements(self):
        self.tool_requires('meson/[>=1.0.1 <2]')
        self.tool_requires('pkgconf/[>=1.9 <3]')

    def layout(self):
        basic_layout(self)

    def generate(self):
        packages = PkgConfigDeps(self)
        packages.set_property('isa-l', 'pkg_config_name', 'libisal')
        packages.generate()
        toolchain = MesonToolchain(self)
        toolchain.project_options['runtime_only'] = bool(self.options.runtime_only)
        toolchain.project_options['io_uring'] = 'enabled' if self.options.get_safe('io_uring') else 'disabled'
        for rest in ('tls', 'tool', 'tests', 'examples', 'benches'):
            toolchain.project_options[rest] = 'disabled'
        toolchain.generate()

    def build(self):
        meson = Meson(self)
        meson.configure()
        meson.build()

    def package(self):
        copy(self, 'LICENSE', self.source_folder, os.path.join(self.package_folder, 'licenses'))
        Meson(self).install()

    def package_info(self):
        libraries = ['runtime'] if self.options.runtime_only else ['runtime', 'data', 'train', 'tensorflow']
        self.cpp_info.set_property('cmake_target_name', 'leat::leat')
        self.cpp_info.set_property('pkg_config_name', 'leat')
        for below, name in zip([None, *libraries], libraries):
            component = self.cpp_info.components[name]
            component.libs = [f'leat-{name}']
            component.set_property('cmake_target_name', f'leat::{name}')
            component.set_property('pkg_config_name', f'leat-{name}')
            component.requires = [below] if below else ['asio::asio']
        runtime = self.cpp_info.components['runtime']
        runtime.system_libs = ['pthread']
        runtime.defines = ['ASIO_STANDALONE', 'ASIO_HAS_CO_AWAIT=1', 'ASIO_HAS_STD_COROUTINE=1']
        if not self.options.runtime_only:
            data = self.cpp_info.components['data']
            data.requires += ['isa-l::isa-l', 'nlohmann_json::nlohmann_json', 'protozero::protozero', 'zlib::zlib']
            if self.options.io_uring:
                data.requires.append('liburing::liburing')
