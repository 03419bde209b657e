#!/usr/bin/env python3
"""Installs the library into a folder of its own and builds a program against it, with the lines of README.md.

    check.py pkg-config|cmake|meson default|static BUILD_DIR COMPILER [--keep FILE]

default: the form that these lines link; static: the static library, where the shared one is installed too.
--keep: the program stays there.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

from consumers import HERE, Package, build_and_run, run

way, form, build, compiler = sys.argv[1:5]

for needed in ['meson', 'pkg-config', *(['cmake'] if way == 'cmake' else [])]:
    if not shutil.which(needed):
        print(f'skipped: {needed} is not installed')
        sys.exit(77)

with tempfile.TemporaryDirectory() as temporary:
    # A prefix other than the configured one, on which nothing may depend.
    root = pathlib.Path(temporary)
    run('meson', 'install', '-C', build, '--no-rebuild', '--tags', 'devel,runtime',
        '--destdir', str(root / 'installed'), stdout=subprocess.DEVNULL)
    program = build_and_run(way, form, Package(root / 'installed'), compiler, HERE / 'consumer.cpp', root / 'work')
    if '--keep' in sys.argv:
        shutil.copy(program, sys.argv[sys.argv.index('--keep') + 1])
