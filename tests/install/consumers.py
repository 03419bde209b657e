"""Builds a program that uses an installed leat, with the lines of README.md."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
# Requests that a package must refuse: another ABI, newer versions and forms that are not installed.
CMAKE_REFUSALS = '''
string(REPLACE "." ";" parts "${leat_VERSION}")
list(GET parts 0 major)
list(GET parts 1 minor)
math(EXPR next_major "${major} + 1")
math(EXPR next_minor "${minor} + 1")
foreach(accepted IN ITEMS "${major}.${minor}" "${leat_VERSION}" "${major}.${minor}...<${next_major}")
  find_package(leat ${accepted} CONFIG REQUIRED)
endforeach()
foreach(refused IN ITEMS "${major}.${next_minor}" "${major}.${minor}.99" "${next_major}.0" "${next_major}...5")
  find_package(leat ${refused} CONFIG QUIET)
  if(leat_FOUND)
    message(FATAL_ERROR "leat ${leat_VERSION} was found by a request for ${refused}")
  endif()
endforeach()
find_package(leat CONFIG QUIET COMPONENTS other)
if(leat_FOUND)
  message(FATAL_ERROR "a component was found that there is not")
endif()
find_package(leat CONFIG REQUIRED COMPONENTS runtime OPTIONAL_COMPONENTS other)
if(NOT leat_runtime_FOUND OR leat_other_FOUND)
  message(FATAL_ERROR "the components were not found as they are")
endif()
add_executable(runtime_program main.cpp)
target_link_libraries(runtime_program PRIVATE leat::runtime)
target_compile_definitions(runtime_program PRIVATE WITH_RUNTIME_ONLY)
file(WRITE "${CMAKE_BINARY_DIR}/asio/asio/version.hpp" "#define ASIO_VERSION 100000 // 1.0.0\\n")
set(leat_ASIO_INCLUDE_DIR "${CMAKE_BINARY_DIR}/asio" CACHE PATH "" FORCE)
find_package(leat CONFIG QUIET)
if(leat_FOUND)
  message(FATAL_ERROR "found with another version of Asio")
endif()
'''
# The runtime does without the libraries that the static leat-data links; a later request finds them.
CMAKE_RUNTIME_FIRST = '''
set(CMAKE_DISABLE_FIND_PACKAGE_ZLIB ON)
find_package(leat CONFIG REQUIRED COMPONENTS static runtime)
set(CMAKE_DISABLE_FIND_PACKAGE_ZLIB OFF)
'''
CMAKE_TLS = '''
find_package(leat CONFIG REQUIRED COMPONENTS tls)
add_executable(tls_program tls.cpp)
target_link_libraries(tls_program PRIVATE leat::tls)
'''
CMAKE_HEAD = 'cmake_minimum_required(VERSION 3.20)\nproject(consumer LANGUAGES CXX)\n'


def run(*command, **options):
    print('+', *command, flush=True)
    return subprocess.run(command, check=True, text=True, stdin=subprocess.DEVNULL, **options)


def lines_of_readme(language, containing):
    blocks = re.findall(rf'^```{language}\n(.*?)^```', (PROJECT / 'README.md').read_text(), re.M | re.S)
    found = [block for block in blocks if containing in block]
    if len(found) != 1:
        sys.exit(f'README.md: {len(found)} blocks of {language} with "{containing}", not 1')
    return found[0]


class Package:
    """An installed leat below `root`."""

    def __init__(self, root):
        file = next(root.rglob('leat.pc'))
        self.prefix = next(p for p in file.parents if (p / 'include' / 'leat').is_dir())
        os.environ['PKG_CONFIG_PATH'] = str(file.parent)
        os.environ['LD_LIBRARY_PATH'] = str(file.parents[1])

    def has(self, library):
        return any(self.prefix.rglob(f'leat-{library}.pc'))

    def has_shared_library(self):
        return any(self.prefix.rglob('libleat-runtime.so'))


def build_with_pkg_config(work, package, compiler, form):
    command = lines_of_readme('sh', '$(pkg-config').replace('g++', compiler)
    run('sh', '-e', '-c', command, cwd=work)
    if package.has('tls'):
        run('sh', '-e', '-c', f'{compiler} -std=c++20 tls.cpp -o tls_program $(pkg-config --cflags --libs leat-tls)',
            cwd=work)
    flags = run('pkg-config', '--cflags', 'leat', stdout=subprocess.PIPE).stdout.split()
    if package.has('tensorflow'):
        # A unity build of sources with local types, with the warnings that programs have.
        sources = [HERE / 'local_types.cpp', PROJECT / 'examples' / 'typed_elements.cpp']
        (work / 'unity.cpp').write_text(''.join(f'#include "{source}"\n' for source in sources))
        run(compiler, '-std=c++20', '-fsyntax-only', '-Wall', '-Wextra', '-Wpedantic', '-Wconversion',
            '-Wshadow', '-Werror', 'unity.cpp', *flags, cwd=work)


def build_with_cmake(work, package, compiler, form):
    lines = lines_of_readme('cmake', 'find_package(leat')
    if form == 'static':
        lines = CMAKE_RUNTIME_FIRST + lines.replace('REQUIRED)', 'REQUIRED COMPONENTS static)')
    tls = CMAKE_TLS.replace('COMPONENTS tls', 'COMPONENTS tls static') if form == 'static' else CMAKE_TLS
    (work / 'CMakeLists.txt').write_text(CMAKE_HEAD + lines + (tls if package.has('tls') else '') + CMAKE_REFUSALS)
    run('cmake', '-G', 'Ninja', '-S', str(work), '-B', str(work / 'build'),
        f'-DCMAKE_CXX_COMPILER={compiler}', f'-DCMAKE_PREFIX_PATH={package.prefix}')
    run('cmake', '--build', str(work / 'build'))
    for name in ('program', *(['tls_program'] if package.has('tls') else [])):
        shutil.copy(work / 'build' / name, work / name)


def build_with_meson(work, package, compiler, form):
    lines = lines_of_readme('meson', "dependency('leat'")
    if form == 'static':
        lines = lines.replace("dependency('leat'", "dependency('leat', static: true")
    (work / 'meson.build').write_text(lines)
    run('meson', 'setup', '--wrap-mode=nofallback', str(work / 'build'), str(work),
        env={**os.environ, 'CXX': compiler})
    run('meson', 'compile', '-C', str(work / 'build'))
    shutil.copy(work / 'build' / 'program', work / 'program')


BUILDS = {'pkg-config': build_with_pkg_config, 'cmake': build_with_cmake, 'meson': build_with_meson}


def check_linked(program, shared):
    """The form was linked that was wanted."""
    needed = run('readelf', '--dynamic', '--wide', program, stdout=subprocess.PIPE).stdout
    if ('[libleat-runtime.so' in needed) != shared:
        sys.exit(f'{program}: is to link the {"shared" if shared else "static"} libraries\n{needed}')


def build_and_run(way, form, package, compiler, main, work):
    """Builds `main` in the new folder `work`, checks which library it links, and runs it. Returns the program."""
    work.mkdir()
    shutil.copy(main, work / 'main.cpp')
    shutil.copy(HERE / 'tls_consumer.cpp', work / 'tls.cpp')
    BUILDS[way](work, package, compiler, form)
    check_linked(work / 'program', form == 'default' and package.has_shared_library())
    run(str(work / 'program'))
    if (work / 'tls_program').exists():
        run(str(work / 'tls_program'))
    return work / 'program'
