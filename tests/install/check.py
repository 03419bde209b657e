#!/usr/bin/env python3
"""Installs the library into a folder of its own and builds a program against it, with the lines of README.md.

    check.py pkg-config|cmake|meson default|static BUILD_DIR COMPILER [--keep FILE]

default: the form that these lines link; static: the static library, where the shared one is installed too.
--keep: the program stays there.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

way, form, build, compiler = sys.argv[1:5]
here = pathlib.Path(__file__).resolve().parent
project = here.parents[1]
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
file(WRITE "${CMAKE_BINARY_DIR}/asio/asio/version.hpp" "#define ASIO_VERSION 100000 // 1.0.0\\n")
set(leat_ASIO_INCLUDE_DIR "${CMAKE_BINARY_DIR}/asio" CACHE PATH "" FORCE)
find_package(leat CONFIG QUIET)
if(leat_FOUND)
  message(FATAL_ERROR "found with another version of Asio")
endif()
'''
CMAKE_HEAD = 'cmake_minimum_required(VERSION 3.20)\nproject(consumer LANGUAGES CXX)\n'

for program in ['meson', 'pkg-config', *(['cmake'] if way == 'cmake' else [])]:
    if not shutil.which(program):
        print(f'skipped: {program} is not installed')
        sys.exit(77)


def run(*command, **options):
    print('+', *command, flush=True)
    return subprocess.run(command, check=True, text=True, stdin=subprocess.DEVNULL, **options)


def lines_of_readme(language, containing):
    blocks = re.findall(rf'^```{language}\n(.*?)^```', (project / 'README.md').read_text(), re.M | re.S)
    found = [block for block in blocks if containing in block]
    if len(found) != 1:
        sys.exit(f'README.md: {len(found)} blocks of {language} with "{containing}", not 1')
    return found[0]


def build_with_pkg_config(work):
    command = lines_of_readme('sh', '$(pkg-config').replace('g++', compiler)
    run('sh', '-e', '-c', command, cwd=work)
    flags = run('pkg-config', '--cflags', 'leat', stdout=subprocess.PIPE).stdout.split()
    if '-DLEAT_RUNTIME_ONLY' not in flags:
        # Elements of a type in an unnamed namespace, with the warnings that programs have.
        run(compiler, '-std=c++20', '-fsyntax-only', '-Wall', '-Wextra', '-Wpedantic', '-Wconversion',
            '-Wshadow', '-Werror', str(project / 'examples' / 'typed_elements.cpp'), *flags)


def build_with_cmake(work):
    lines = lines_of_readme('cmake', 'find_package(leat')
    if form == 'static':
        lines = lines.replace('REQUIRED)', 'REQUIRED COMPONENTS static)')
    (work / 'CMakeLists.txt').write_text(CMAKE_HEAD + lines + CMAKE_REFUSALS)
    run('cmake', '-G', 'Ninja', '-S', str(work), '-B', str(work / 'build'),
        f'-DCMAKE_CXX_COMPILER={compiler}', f'-DCMAKE_PREFIX_PATH={prefix}')
    run('cmake', '--build', str(work / 'build'))
    shutil.copy(work / 'build' / 'program', work / 'program')


def build_with_meson(work):
    lines = lines_of_readme('meson', "dependency('leat'")
    if form == 'static':
        lines = lines.replace("dependency('leat'", "dependency('leat', static: true")
    (work / 'meson.build').write_text(lines)
    run('meson', 'setup', '--wrap-mode=nofallback', str(work / 'build'), str(work),
        env={**os.environ, 'CXX': compiler})
    run('meson', 'compile', '-C', str(work / 'build'))
    shutil.copy(work / 'build' / 'program', work / 'program')


def check_linked(program):
    """The form was linked that was wanted."""
    needed = run('readelf', '--dynamic', '--wide', program, stdout=subprocess.PIPE).stdout
    shared = form == 'default' and any(prefix.rglob('libleat.so'))
    if ('[libleat.so' in needed) != shared:
        sys.exit(f'{program}: is to link the {"shared" if shared else "static"} library\n{needed}')


with tempfile.TemporaryDirectory() as temporary:
    # A prefix other than the configured one, on which nothing may depend.
    root = pathlib.Path(temporary)
    run('meson', 'install', '-C', build, '--no-rebuild', '--tags', 'devel,runtime',
        '--destdir', str(root / 'installed'), stdout=subprocess.DEVNULL)
    package = next((root / 'installed').rglob('leat.pc'))
    prefix = next(p for p in package.parents if (p / 'include' / 'leat').is_dir())
    os.environ['PKG_CONFIG_PATH'] = str(package.parent)
    os.environ['LD_LIBRARY_PATH'] = str(package.parents[1])
    work = root / 'work'
    work.mkdir()
    shutil.copy(here / 'consumer.cpp', work / 'main.cpp')
    {'pkg-config': build_with_pkg_config, 'cmake': build_with_cmake, 'meson': build_with_meson}[way](work)
    check_linked(work / 'program')
    run(str(work / 'program'))
    if '--keep' in sys.argv:
        shutil.copy(work / 'program', sys.argv[sys.argv.index('--keep') + 1])
