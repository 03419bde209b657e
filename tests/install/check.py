#!/usr/bin/env python3
"""Installs the library into a folder of its own and builds a program against what is there.

    check.py pkg-config|cmake BUILD_DIR COMPILER
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

way, build, compiler = sys.argv[1:4]
here = pathlib.Path(__file__).resolve().parent

for program in ['meson', 'pkg-config', *(['cmake'] if way == 'cmake' else [])]:
    if not shutil.which(program):
        print(f'skipped: {program} is not installed')
        sys.exit(77)


def run(*command, **options):
    print('+', *command, flush=True)
    return subprocess.run(command, check=True, text=True, stdin=subprocess.DEVNULL, **options)


def build_with_pkg_config(work):
    flags = run('pkg-config', '--cflags', '--libs', 'leat', stdout=subprocess.PIPE).stdout.split()
    run(compiler, '-std=c++20', str(here / 'consumer.cpp'), '-o', str(work / 'consumer'), *flags)
    # Elements of a type in an unnamed namespace, with the warnings that programs have.
    run(compiler, '-std=c++20', '-fsyntax-only', '-Wall', '-Wextra', '-Wpedantic', '-Wconversion',
        '-Wshadow', '-Werror', str(here.parents[1] / 'examples' / 'typed_elements.cpp'), *flags)


def build_with_cmake(work):
    run('cmake', '-G', 'Ninja', '-S', str(here), '-B', str(work), f'-DCMAKE_CXX_COMPILER={compiler}')
    run('cmake', '--build', str(work))


with tempfile.TemporaryDirectory() as temporary:
    root = pathlib.Path(temporary)
    run('meson', 'install', '-C', build, '--no-rebuild', '--tags', 'devel',
        '--destdir', str(root / 'installed'), stdout=subprocess.DEVNULL)
    found = next((root / 'installed').rglob('leat.pc'))
    os.environ['PKG_CONFIG_PATH'] = str(found.parent)
    work = root / 'work'
    work.mkdir()
    build_with_cmake(work) if way == 'cmake' else build_with_pkg_config(work)
    run(str(work / 'consumer'))
