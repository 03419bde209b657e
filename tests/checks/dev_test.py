#!/usr/bin/env python3
"""Checks that `./dev test` reports a skipped format check if, and only if, the formatter is missing, and that the README has
the two commands that do everything, each in a line of its own.

    dev_test.py PROJECT
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

project = pathlib.Path(sys.argv[1])
NOTICE = 'clang-format-19 is not installed: the format check is skipped'


def run(with_formatter):
    """Returns the output of `./dev test`, with stubs instead of the tools."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        programs = folder / 'bin'
        programs.mkdir()
        for tool in ('bash', 'sh', 'cat', 'mkdir', 'rm', 'env', 'dirname', 'id', 'nproc'):
            if path := shutil.which(tool):
                (programs / tool).symlink_to(path)
        stubs = ['meson', 'ninja'] + ['clang-format-19'] * with_formatter
        for stub in stubs:
            (programs / stub).write_text('#!/bin/sh\nexit 0\n')
            (programs / stub).chmod(0o755)
        copy = folder / 'project'
        copy.mkdir()
        shutil.copy(project / 'dev', copy)
        done = subprocess.run([str(copy / 'dev'), 'test'], text=True, capture_output=True,
                              env={'PATH': str(programs), 'HOME': temporary, 'NO_INSTALL': '1'})
        if done.returncode != 0:
            sys.exit(f'./dev test fails with stubs for its tools:\n{done.stdout}{done.stderr}')
        return done.stdout + done.stderr


if NOTICE not in run(with_formatter=False):
    sys.exit('./dev test without clang-format-19: no message about the skipped format check')
if NOTICE in run(with_formatter=True):
    sys.exit('./dev test with clang-format-19: reports a missing formatter')

for command in ('demo', 'test'):
    if f'\n./dev {command} ' not in (project / 'README.md').read_text():
        sys.exit(f'README.md: no line with the command ./dev {command}')
