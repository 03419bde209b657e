#!/usr/bin/env python3
"""Checks that meson.build, version.hpp and the packaging recipes have the same version, that the recipes use existing
options, and that stand-ins for vcpkg and Conan can run the recipes without a network.

    versions.py PROJECT
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import types

project = pathlib.Path(sys.argv[1])
OPTIONS = set(re.findall(r"^option\('(\w+)'", (project / 'meson_options.txt').read_text(), re.MULTILINE))
VERSION = re.search(r"^  version: '([\d.]+)'", (project / 'meson.build').read_text(), re.MULTILINE)[1]
found = []


def check_equal(name, value, wanted):
    if value != wanted:
        found.append(f'{name}: {value!r}, but meson.build requires {wanted!r}')


def check_options(name, values):
    found.extend(f'{name}: {option}: no such option in meson_options.txt' for option in sorted(set(values) - OPTIONS))


def check_header():
    text = (project / 'include' / 'leat' / 'version.hpp').read_text()
    macros = dict(re.findall(r'^#define (\w+) (.+)$', text, re.MULTILINE))
    major, minor, patch = map(int, VERSION.split('.'))
    check_equal('LEAT_VERSION', macros.get('LEAT_VERSION'), str(major * 10000 + minor * 100 + patch))
    check_equal('LEAT_VERSION_STRING', macros.get('LEAT_VERSION_STRING'), f'"{VERSION}"')


# Stand-ins for the functions of vcpkg, which print their arguments.
VCPKG = '\n'.join(f'function({name})\n  message("{name} ${{ARGN}}")\nendfunction()' for name in (
    'vcpkg_configure_meson', 'vcpkg_install_meson', 'vcpkg_cmake_config_fixup', 'vcpkg_fixup_pkgconfig',
    'vcpkg_install_copyright'))


def calls_of_portfile(portfile, features):
    """Runs the portfile with these features and returns the calls that it makes."""
    with tempfile.NamedTemporaryFile('w', suffix='.cmake') as script:
        script.write(f'cmake_minimum_required(VERSION 3.20)\n{VCPKG}\nset(FEATURES core {" ".join(features)})\ninclude("{portfile.resolve()}")\n')
        script.flush()
        run = subprocess.run(['cmake', '-P', script.name], capture_output=True, text=True)
    if run.returncode != 0:
        found.append(f'{portfile}: {run.stderr}')
    return run.stderr


def check_vcpkg():
    port = project / 'tools' / 'packaging' / 'vcpkg' / 'leat'
    manifest = json.loads((port / 'vcpkg.json').read_text())
    check_equal('vcpkg.json', manifest['version'], VERSION)
    missing = set(manifest['default-features']) - set(manifest['features'])
    found.extend(f'vcpkg.json: {feature}: no such feature' for feature in sorted(missing))
    if not shutil.which('cmake'):
        print('skipped the portfile: cmake is not installed')
        return
    for features, runtime_only, io_uring in [([], 'true', 'disabled'), (['files'], 'false', 'disabled'),
                                             (list(manifest['features']), 'false', 'enabled')]:
        calls = calls_of_portfile(port / 'portfile.cmake', features)
        options = dict(re.findall(r'-D(\w+)=(\w+)', calls))
        check_options('portfile.cmake', options)
        wanted = {'runtime_only': runtime_only, 'io_uring': io_uring}
        check_equal(f'portfile.cmake {features}', {key: options.get(key) for key in wanted}, wanted)
        source = re.search(r'SOURCE_PATH;([^;]+)', calls)
        if not source or not pathlib.Path(source[1], 'meson.build').samefile(project / 'meson.build'):
            found.append('portfile.cmake: SOURCE_PATH is not the folder of this project')


class Anything(dict):
    """Replaces each class and function of Conan that the recipe uses."""

    def __init__(self, *args, **options):
        super().__init__()
        self.__dict__.update(options)

    def __getattr__(self, name):
        return Anything()

    def __call__(self, *args, **options):
        return Anything(**options)

    def __bool__(self):
        return False


def load_recipe(path, made):
    """Loads the recipe as a module, with stand-ins for the modules of Conan."""
    class Toolchain(Anything):
        def __init__(self, recipe):
            super().__init__()
            self.project_options = {}
            made.append(self)

    contents = {
        'conan': {'ConanFile': object},
        'conan.errors': {'ConanInvalidConfiguration': ValueError},
        'conan.tools': {},
        'conan.tools.build': {'check_min_cppstd': lambda recipe, least: None},
        'conan.tools.files': {'copy': Anything(), 'load': lambda recipe, file: pathlib.Path(file).read_text()},
        'conan.tools.gnu': {'PkgConfigDeps': Anything},
        'conan.tools.layout': {'basic_layout': Anything()},
        'conan.tools.meson': {'Meson': Anything, 'MesonToolchain': Toolchain},
    }
    for name, members in contents.items():
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(members)
    recipe = types.ModuleType('conanfile')
    exec(compile(path.read_text(), path, 'exec'), vars(recipe))
    return recipe


class Options(types.SimpleNamespace):
    def get_safe(self, name):
        return getattr(self, name, None)


def check_conan():
    path = project / 'tools' / 'packaging' / 'conan' / 'conanfile.py'
    for runtime_only in (False, True):
        toolchains = []
        recipe = load_recipe(path, toolchains).Leat()
        recipe.recipe_folder = str(path.parent)
        recipe.settings = types.SimpleNamespace(os='Linux')
        recipe.options = Options(**{**recipe.default_options, 'runtime_only': runtime_only})
        required = []
        recipe.requires = lambda name, **how: required.append(name.split('/')[0])
        recipe.tool_requires = lambda name: None
        recipe.set_version()
        check_equal('conanfile.py', recipe.version, VERSION)
        recipe.config_options()
        recipe.configure()
        recipe.validate()
        recipe.requirements()
        recipe.build_requirements()
        recipe.generate()
        check_options('conanfile.py', toolchains[0].project_options)
        if runtime_only:
            check_equal('conanfile.py, runtime_only', required, ['asio'])


check_header()
check_vcpkg()
check_conan()
print('\n'.join(found))
sys.exit(1 if found else 0)
