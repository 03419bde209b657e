#!/usr/bin/env python3
"""Runs programs whose process exits while tasks use files or block, each many times.

    process_exit.py PROCESS_EXIT [RUNS]

Each run must end with the exit status of the program and print the expected line.
"""

import subprocess
import sys

program = sys.argv[1]
runs = int(sys.argv[2]) if len(sys.argv) > 2 else 50

# Name, runs, exit status, the last line of the output.
expected = [
    ('exit_while_reading', runs, 7, ''),
    ('destroy_static_runtime', max(runs // 5, 1), 0, 'last listing'),
    ('use_library_at_exit', 2, 0, 'listed'),
    ('exit_in_blocking_function', max(runs // 5, 1), 5, ''),
    ('exit_during_blocking_function', max(runs // 5, 1), 6, ''),
]

for name, count, status, last_line in expected:
    for run in range(count):
        done = subprocess.run([program, name], capture_output=True, text=True, timeout=60)
        lines = done.stdout.splitlines() or ['']
        if done.returncode != status or lines[-1] != last_line or done.stderr:
            sys.exit(f'process_exit: {name}, run {run + 1}: exit status {done.returncode}, not '
                     f'{status}; output:\n{done.stdout}{done.stderr}')
    print(f'{name}: {count} runs')
