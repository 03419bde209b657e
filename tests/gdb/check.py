#!/usr/bin/env python3
"""leat-dump prints what dump() did: of a process that gdb has stopped, and of its core.

    check.py PROGRAM SCRIPT
"""

import difflib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

program, script = sys.argv[1:3]


def skip(why):
    print(f'skipped: {why}')
    sys.exit(77)


def run_gdb(*arguments):
    command = ['gdb', '-q', '-nx', '-batch', '-ex', 'set debuginfod enabled off',
               '-ex', 'set disable-randomization off', *arguments]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          timeout=120)
    return done.stdout + done.stderr


def dump_in(output):
    if '--- begin' not in output or '--- end' not in output:
        sys.exit(f'no dump:\n{output}')
    return output.split('--- begin\n', 1)[1].split('--- end', 1)[0]


def without_durations(text):
    text = re.sub(r'for (at least )?\d+\.\d{3} s', 'for N s', text)
    return re.sub(r'\d+ ms\b', 'N ms', text)


def compare(what, dump, printed):
    wanted, got = without_durations(dump), without_durations(printed)
    if wanted == got:
        return
    diff = difflib.unified_diff(wanted.splitlines(), got.splitlines(), 'dump()', what, lineterm='')
    sys.exit('\n'.join(diff))


if not shutil.which('gdb'):
    skip('gdb is not installed')
if 'works' not in run_gdb('-ex', 'python print("wor" + "ks")'):
    skip('gdb has no Python')

leat_dump = ['-ex', f'source {script}', '-ex', r'echo --- begin\n', '-ex', 'leat-dump',
             '-ex', r'echo --- end\n']
with tempfile.TemporaryDirectory() as temporary:
    written = pathlib.Path(temporary) / 'dump'
    core = pathlib.Path(temporary) / 'core'
    output = run_gdb('-ex', 'run', '-ex', f'generate-core-file {core}', *leat_dump, '--args',
                     program, str(written))
    if re.search(r'ptrace|Could not trace', output) and not written.exists():
        skip('a process cannot be traced here')
    dump = written.read_text()
    print(dump)
    compare('leat-dump of the process', dump, dump_in(output))
    compare('leat-dump of the core', dump, dump_in(run_gdb(*leat_dump, program, str(core))))

    # Without debug information the message says how to get it.
    stripped = pathlib.Path(temporary) / 'stripped'
    subprocess.run(['strip', '-o', str(stripped), program], check=True)
    refused = run_gdb(*leat_dump, str(stripped))
    if 'has no debug information of leat: build leat with it' not in refused:
        sys.exit(f'leat-dump of a program without debug information says:\n{refused}')
