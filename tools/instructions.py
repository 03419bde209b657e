#!/usr/bin/env python3
"""Counts the instructions of an operation, which depend on no neighbour, and compares them with those
of the last record: callgrind's count for two numbers of items, whose difference leaves out what is done
once.

usage: instructions.py BUILD RECORD [--write]

BUILD is a release build with benches, RECORD a JSON file of workloads and instructions an item. Fails
where one differs from its record by more than 2 %, up or down; --write makes a new record. Ends with 77
where there is no valgrind or the compiler is not that of the record.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys

build, record = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
write = '--write' in sys.argv[3:]
FEW, MANY = 10_000, 60_000
TOLERANCE = 0.02
SKIPPED = 77
workloads = {
    'leat_queue_bench': ['queue/1-thread/capacity-1', 'queue/1-thread/capacity-64',
                         'queue/1-thread/capacity-1024', 'queue/1-thread/batches-64',
                         'queue/1-thread/select-64', 'queue/1000-producers'],
    'leat_task_bench': ['task/spawn-and-join', 'task/child', 'task/yield'],
}


def compiler():
    """The major version of the compiler of the build, such as 'g++ 12'."""
    commands = json.loads((build / 'compile_commands.json').read_text())
    program = [word for word in commands[0]['command'].split() if word != 'ccache'][0]
    done = subprocess.run([program, '-dumpversion'], capture_output=True, text=True, check=True)
    return f"{pathlib.Path(program).name} {done.stdout.split('.')[0].strip()}"


def instructions(program, workload, items):
    done = subprocess.run(
        ['valgrind', '--tool=callgrind', '--callgrind-out-file=/dev/null', program, '--workload',
         workload, '--items', str(items)], capture_output=True, text=True, timeout=300)
    found = re.search(r'Collected : (\d+)', done.stderr)
    if done.returncode != 0 or not found:
        sys.exit(f'{workload} failed: {done.stderr}')
    return int(found[1])


def per_item(program, workload):
    # Each program warms up with a tenth of the items.
    more = instructions(program, workload, MANY) - instructions(program, workload, FEW)
    return round(more / (MANY - FEW) / 1.1, 1)


if not shutil.which('valgrind'):
    print('no valgrind: nothing is counted')
    sys.exit(SKIPPED)
known = {} if write else json.loads(record.read_text())
if not write and known['compiler'] != compiler():
    print(f"the record is of {known['compiler']}, this is {compiler()}: nothing is compared")
    sys.exit(SKIPPED)
counts = {}
bad = 0
for program, names in workloads.items():
    for name in names:
        counts[name] = per_item(build / 'benches' / program, name)
        if write:
            print(f'{name}: {counts[name]}')
            continue
        was = known['instructions'].get(name)
        good = was is not None and abs(counts[name] - was) <= TOLERANCE * was
        print(f'{name}: {counts[name]}, recorded {was}{"" if good else ": DIFFERS"}')
        bad += not good
if write:
    record.write_text(json.dumps({'compiler': compiler(), 'instructions': counts}, indent=2) + '\n')
if bad:
    print('more: find out why; wanted, or less: make a new record with ./dev bench --instructions')
sys.exit(1 if bad else 0)
