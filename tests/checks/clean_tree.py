#!/usr/bin/env python3
"""A build and its tests leave no file in the source tree that git does not ignore.

    clean_tree.py ROOT save FILE      before: remembers what is there
    clean_tree.py ROOT compare FILE   after: fails for what has come since
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
