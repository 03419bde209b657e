#!/usr/bin/env python3
"""The example simulation: the command that it prints runs the same seed with the same bug again.

    simulation.py PROGRAM
"""

import re
import shlex
import subprocess
import sys

program = sys.argv[1]


def require(holds, what, *details):
    if not holds:
        sys.exit(f'simulation: {what}\n' + '\n'.join(str(d) for d in details))


def run(command):
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    require(done.returncode == 0, f'{command} ended with {done.returncode}', done.stdout,
            done.stderr)
    return done


def main():
    found = run(f'{shlex.quote(program)} planted')
    command = re.search(r'^replay: (LEAT_SIM_SEED=\d+ .*)$', found.stdout, re.MULTILINE)
    require(command, 'no command to run it again', found.stdout)
    shortest = re.search(r'^shortest run found.*\nreplay: (LEAT_SIM_SEED=\d+ LEAT_SIM_DECISIONS=.*)$',
                         found.stdout, re.MULTILINE)
    require(shortest, 'no command for the shortest run', found.stdout)
    require(re.search(r'schedule, with [1-9] non-default decisions', found.stdout), 'no schedule',
            found.stdout)
    require(' ,' not in found.stdout, 'a blank before a comma', found.stdout)
    require(found.stderr == '', 'a sweep prints schedules', found.stderr)

    again, once_more = run(command[1]), run(command[1])
    require(again.stdout == found.stdout, 'another failure or schedule', found.stdout, again.stdout)
    # The complete schedule, before irrelevant decisions were removed.
    require(re.match(r'step 1, 0 ms, thread 0: body begins\n', again.stderr), 'no whole schedule',
            again.stderr)
    require(again.stderr == once_more.stderr, 'the schedule is another each time', again.stderr,
            once_more.stderr)

    # The shortest run: the same schedule, which is also printed step by step.
    short = run(shortest[1])
    steps = [line.strip() for line in found.stdout.splitlines() if line.startswith('  step')]
    require(steps == [line.strip() for line in short.stdout.splitlines() if line.startswith('  step')],
            'the shortest run has another schedule', found.stdout, short.stdout)
    require(short.stderr.startswith('step 1, 0 ms, thread 0: body begins\n'), 'no steps', short.stderr)

    wrong = subprocess.run(program, env={'LEAT_SIM_SEED': 'seven'}, capture_output=True, text=True,
                           check=False)
    require(wrong.returncode == 1 and "'seven'" in wrong.stderr, 'a wrong seed', wrong.stderr)

    # A single seed of the correct program.
    seed = command[1].split()[0]
    right = run(f'{seed} {shlex.quote(program)}')
    require(right.stdout == '1 seeds: nothing found\n', 'another seed, or more', right.stdout)
    require(run(shlex.quote(program)).stdout == '1000 seeds: nothing found\n', 'not all seeds')


if __name__ == '__main__':
    main()
