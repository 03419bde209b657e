#!/usr/bin/env python3
"""Checks that a build and its tests change no file in the source tree, except files that git ignores.

    clean_tree.py ROOT save FILE      before the build: records the changed files
    clean_tree.py ROOT compare FILE   after the tests: fails if other files have changed
"""

import pathlib
import shutil
import subprocess
import sys

root, verb, memory = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
if not shutil.which('git'):
    print('skipped: git is not installed')
    sys.exit(77)
status = subprocess.run(['git', '-C', root, 'status', '--porcelain', '--untracked-files=all'],
                        capture_output=True, text=True)
if status.returncode != 0:
    print('skipped: not a git checkout')
    sys.exit(77)
if verb == 'save':
    memory.write_text(status.stdout)
    sys.exit(0)
before = memory.read_text().splitlines()
found = [line for line in status.stdout.splitlines() if line not in before]
print('\n'.join(f'{line}: changed while the checks ran' for line in found))
sys.exit(1 if found else 0)
