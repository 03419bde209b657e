#!/usr/bin/env python3
"""Runs the commands of README.md and of the tutorial that install leat and build programs with it, in a copy of the tree
and with the compiler of the system.

    readme.py PROJECT

A folder stands in for the file system that `sudo` changes. With ccache, only the first run compiles everything.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from consumers import BUILDS, Package, build_and_run, run

PROJECT = pathlib.Path(sys.argv[1]).resolve()
sys.path.append(str(PROJECT / 'tests' / 'support'))
from command_blocks import blocks_of  # noqa: E402

# `sudo apt install` records the packages, and another command writes below $INSTALLED.
SUDO = '''#!/bin/sh
if [ "$1" = apt ]; then
  shift 2
  printf '%s\\n' "$@" >"$INSTALLED/packages"
else
  DESTDIR=$INSTALLED exec "$@"
fi
'''

for needed in ['meson', 'pkg-config', 'cmake']:
    if not shutil.which(needed):
        print(f'skipped: {needed} is not installed')
        sys.exit(77)


def check_packages(named):
    """README.md names the packages that ./dev installs for the library."""
    wanted = re.search(r'^library_packages=\((.*?)\)', (PROJECT / 'dev').read_text(), re.M | re.S)[1].split()
    if sorted(named) != sorted(wanted):
        sys.exit(f'README.md installs {named}, ./dev {wanted}')


def commands_with(text):
    found = [b.text for b in blocks_of(PROJECT, 'tests/install/readme.py') if text in b.text]
    if len(found) != 1:
        sys.exit(f'{len(found)} blocks of commands with "{text}", not 1')
    return found[0]


with tempfile.TemporaryDirectory() as temporary:
    root = pathlib.Path(temporary)
    copy, installed, programs = root / 'leat', root / 'installed', root / 'bin'
    shutil.copytree(PROJECT, copy, ignore=shutil.ignore_patterns('build', 'build-*', '.git', '__pycache__'))
    installed.mkdir()
    programs.mkdir()
    (programs / 'sudo').write_text(SUDO)
    (programs / 'sudo').chmod(0o755)
    for variable in ['CXX', 'CXXFLAGS', 'CXX_LD', 'LDFLAGS', 'DESTDIR']:
        os.environ.pop(variable, None)
    os.environ |= {'PATH': f'{programs}:{os.environ["PATH"]}', 'INSTALLED': str(installed),
                   'CCACHE_BASEDIR': str(copy), 'CCACHE_NOHASHDIR': '1'}
    # In CI, ./dev configures the demo and the benches so too, and they find the objects in the compiler cache.
    as_ci = {'CXX': 'ccache g++', 'CXXFLAGS': '-Werror'} if os.environ.get('CI') == 'true' else {}

    run('sh', '-e', '-c', commands_with('meson setup build'), cwd=copy, env=os.environ | as_ci)
    check_packages((installed / 'packages').read_text().split())
    package = Package(installed)
    if subprocess.run(['pkg-config', '--exists', 'CLI11', 'fmt', 'nlohmann_json', 'tomlplusplus']).returncode == 0:
        run(str(package.prefix / 'bin' / 'leat'), '--version')

    # The tree is out of reach of the programs.
    main = root / 'queue.cpp'
    shutil.copy(copy / 'examples' / 'queue.cpp', main)
    lessons = root / 'lessons'
    shutil.copytree(copy / 'examples' / 'tutorial', lessons)
    shutil.rmtree(copy)
    for way in BUILDS:
        build_and_run(way, 'default', package, 'g++', main, root / way)
    run('sh', '-e', '-c', commands_with('1_queue.cpp'), cwd=lessons)
    run('./1_queue', '1_queue.cpp', cwd=lessons)
