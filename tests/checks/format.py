#!/usr/bin/env python3
"""Checks that the C++ files are formatted according to .clang-format. With --fix it formats them."""

import pathlib
import shutil
import subprocess
import sys

FORMATTER = 'clang-format-19'
FOLDERS = ['include', 'lib', 'tests', 'benches', 'examples', 'tools']

if not shutil.which(FORMATTER):
    print(f'skipped: {FORMATTER} is not installed')
    sys.exit(77)
root = pathlib.Path(sys.argv[1])
files = sorted(str(f.relative_to(root)) for top in FOLDERS for f in (root / top).rglob('*.[ch]pp'))
mode = ['-i'] if '--fix' in sys.argv[2:] else ['--dry-run', '-Werror', '-ferror-limit=1']
result = subprocess.run([FORMATTER, *mode, *files], cwd=root, capture_output=True, text=True)
bad = sorted({line.split(':')[0] for line in result.stderr.splitlines() if ': error:' in line})
print('\n'.join(f'{name}: not formatted: run ./dev lint --fix' for name in bad))
sys.exit(result.returncode)
