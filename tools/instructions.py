#!/usr/bin/env python3
"""Counts the instructions of an operation, which depend on no neighbour, and compares them with those
of the last record: callgrind's count for two numbers of items, or for two files, whose difference leaves
out what is done once.

usage: instructions.py BUILD RECORD [--write]

BUILD is a release build with benches, RECORD a JSON file of workloads and instructions an item. Fails
where one differs from its record by more than 2 %, up or down; --write makes a new record. Ends with 77
where there is no valgrind or the compiler is not that of the record.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

build, record = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
write = '--write' in sys.argv[3:]
FEW, MANY = 10_000, 60_000
SMALL, LARGE = 2 << 20, 10 << 20  # bytes
TOLERANCE = 0.02
SKIPPED = 77
workloads = {
    'leat_queue_bench': ['queue/1-thread/capacity-1', 'queue/1-thread/capacity-64',
                         'queue/1-thread/capacity-1024', 'queue/1-thread/batches-64',
                         'queue/1-thread/select-64', 'queue/1000-producers'],
    'leat_task_bench': ['task/spawn-and-join', 'task/child', 'task/yield'],
}
# What is read of a file: of which kind, with which parameters of bench_data. By worker threads, which
# callgrind knows better than a ring.
readings = {
    'tfrecord/hot-verified/1KiB': ('leat_record_bench', 'tfrecord', '1024'),
    'decode/csv': ('leat_decode_bench', 'csv'),
    'decode/examples': ('leat_decode_bench', 'examples'),
    'decode/example-fields': ('leat_decode_bench', 'examples'),
}


def compiler():
    """The major version of the compiler of the build, such as 'g++ 12'."""
    commands = json.loads((build / 'compile_commands.json').read_text())
    program = [word for word in commands[0]['command'].split() if word != 'ccache'][0]
    done = subprocess.run([program, '-dumpversion'], capture_output=True, text=True, check=True)
    return f"{pathlib.Path(program).name} {done.stdout.split('.')[0].strip()}"


def instructions(program, *arguments):
    # Meson has malloc() fill what it gives, which would be counted.
    environment = {**os.environ, 'LEAT_IO': 'threads', 'MALLOC_PERTURB_': '0'}
    done = subprocess.run(
        ['valgrind', '--tool=callgrind', '--callgrind-out-file=/dev/null', build / 'benches' / program,
         *map(str, arguments)], capture_output=True, text=True, timeout=300, env=environment)
    found = re.search(r'Collected : (\d+)', done.stderr)
    if done.returncode != 0 or not found:
        sys.exit(f'{" ".join(map(str, arguments))} failed: {done.stderr}')
    return int(found[1])


def per_item(program, workload):
    # Each program warms up with a tenth of the items.
    few, many = (instructions(program, '--workload', workload, '--items', n) for n in (FEW, MANY))
    return round((many - few) / (MANY - FEW) / 1.1, 1)


def data_file(kind, size, *parameters):
    data = build / 'bench-data'
    data.mkdir(exist_ok=True)
    path = data / '-'.join([kind, str(size), *parameters])
    if not path.exists():
        subprocess.run([build / 'benches' / 'bench_data', kind, path, str(size), *parameters],
                       check=True)
    return path


def items_in(path, kind):
    """The rows of a text, or the records of a TFRecord file or of a directory of them."""
    if path.is_dir():
        return sum(items_in(file, kind) for file in path.iterdir())
    content = path.read_bytes()
    if kind == 'csv':
        return content.count(b'\n')
    count = at = 0
    while at < len(content):
        at += int.from_bytes(content[at:at + 8], 'little') + 16
        count += 1
    return count


def per_record(workload, program, kind, *parameters):
    # Each program reads its file twice, the first time to warm up.
    small, large = (data_file(kind, size, *parameters) for size in (SMALL, LARGE))
    more = instructions(program, '--workload', workload, '--file', large)
    more -= instructions(program, '--workload', workload, '--file', small)
    return round(more / (items_in(large, kind) - items_in(small, kind)) / 2, 1)


if not shutil.which('valgrind'):
    print('no valgrind: nothing is counted')
    sys.exit(SKIPPED)
known = {} if write else json.loads(record.read_text())
if not write and known['compiler'] != compiler():
    print(f"the record is of {known['compiler']}, this is {compiler()}: nothing is compared")
    sys.exit(SKIPPED)
counts = {}
bad = 0
counted = [(name, per_item, program, name) for program, names in workloads.items() for name in names]
counted += [(name, per_record, name, *of) for name, of in readings.items()]
for name, count, *of in counted:
    counts[name] = count(*of)
    if write:
        print(f'{name}: {counts[name]}', flush=True)
        continue
    was = known['instructions'].get(name)
    good = was is not None and abs(counts[name] - was) <= TOLERANCE * was
    print(f'{name}: {counts[name]}, recorded {was}{"" if good else ": DIFFERS"}', flush=True)
    bad += not good
if write:
    record.write_text(json.dumps({'compiler': compiler(), 'instructions': counts}, indent=2) + '\n')
if bad:
    print('more: find out why; wanted, or less: make a new record with ./dev bench --instructions')
sys.exit(1 if bad else 0)
