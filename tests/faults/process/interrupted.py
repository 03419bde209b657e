#!/usr/bin/env python3
"""Runs a program repeatedly, with an error that means "retry" in every second call of
io_uring_enter.

    interrupted.py PROGRAM [ARGUMENTS]

Ends with 77 if there is no strace, or if strace may not trace.
"""

import os
import shutil
import subprocess
import sys

if len(sys.argv) < 2:
    sys.exit(__doc__)
if not shutil.which('strace') or subprocess.run(
        ['strace', '-o', '/dev/null', 'true'], capture_output=True, timeout=60).returncode != 0:
    print('skipped: no strace, or it may not trace', file=sys.stderr)
    sys.exit(77)
for error in ('EINTR', 'EAGAIN', 'EBUSY'):
    command = ['strace', '-f', '-qq', '-o', '/dev/null', '-e', 'trace=io_uring_enter',
               '-e', f'inject=io_uring_enter:error={error}:when=1+2', *sys.argv[1:]]
    try:
        done = subprocess.run(command, env={**os.environ, 'LEAT_IO': 'uring'}, timeout=100,
                              capture_output=True, text=True)
    except subprocess.TimeoutExpired:
        sys.exit(f'{error}: it hangs')
    if done.returncode != 0:
        sys.exit(f'{error}: exit status {done.returncode}\n{done.stdout}{done.stderr}')
