#!/usr/bin/env python3
"""Counts the instructions of each operation with callgrind and compares them with the record. The number
does not depend on other programs. It is the difference between two numbers of items, or between two
files, so that the start of the program does not count.

usage: instructions.py BUILD RECORD            compares leat with the record
       instructions.py BUILD RECORD --write    writes a new record
       instructions.py BUILD RECORD --peers [NAME=VERSION]...
                                               counts the peers that are built, and records their
                                               instructions and versions

BUILD is a release build with benches. RECORD is a JSON file with the instructions per item of each
workload, for each compiler and Asio; with --peers, of each peer in the workload. Fails if a workload differs from
its record by more than 2 % in either direction. Exits with status 77 if valgrind is not installed or if
there is no record for the compiler and the Asio.
"""

import concurrent.futures
import json
import os
import pathlib
import queue
import re
import shutil
import subprocess
import sys

import bench_ratios

build, record, *options = [pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), *sys.argv[3:]]
write = options[:1] == ['--write']
FEW, MANY = 10_000, 60_000
SMALL, LARGE = 2 << 20, 10 << 20  # bytes
TOLERANCE = 0.02
SKIPPED = 77
STOP = 'task/stop-as-tuple'
workloads = {
    'leat_queue_bench': ['queue/1-thread/capacity-1', 'queue/1-thread/capacity-64',
                         'queue/1-thread/capacity-1024', 'queue/1-thread/batches-64',
                         'queue/1-thread/select-64', 'queue/1000-producers'],
    'leat_task_bench': ['task/spawn-one', 'task/spawn-and-join', 'task/when-all-2',
                        'task/when-all-1000', 'task/child', 'task/fib-25', 'task/chain-1000', 'task/generator',
                        'task/yield', STOP],
    'leat_sync_bench': ['sync/mutex', 'sync/mutex/2-threads', 'sync/semaphore', 'sync/hand-over-2',
                        'sync/hand-over-100', 'sync/held-100', 'sync/event/set', 'sync/event/wait',
                        'sync/event/wake-100', 'sync/broadcast-10', 'sync/broadcast-10/waiting', 'sync/watch',
                        'sync/watch-10/waiting'],
    'leat_asio_bench': ['asio/timer', 'asio/socket-pair', 'asio/echo-1', 'asio/echo-50'],
    'leat_http_bench': ['http/get', 'http/get-limits'],  # in a build with Boost.Asio
}
# Workloads that read a file: the program, the kind of file, and the parameters of bench_data. Worker
# threads read the files, because callgrind supports threads better than io_uring.
readings = {
    'tfrecord/hot-verified/1KiB': ('leat_record_bench', 'tfrecord', '1024'),
    'decode/csv': ('leat_decode_bench', 'csv'),
    'decode/examples': ('leat_decode_bench', 'examples'),
    'decode/example-fields': ('leat_decode_bench', 'examples'),
}
one_thread = ['queue/1-thread/capacity-1', 'queue/1-thread/capacity-64', 'queue/1-thread/capacity-1024']
spawned = ['task/spawn-one', 'task/spawn-and-join']
called = ['task/child', 'task/fib-25', 'task/chain-1000']
turns = ['sync/hand-over-2', 'sync/hand-over-100', 'sync/held-100']
peers = {
    'toomanycooks_peer': [*one_thread, 'queue/1-thread/batches-64', 'queue/1000-producers', *spawned, 'task/when-all-2',
                          *called],
    'corral_peer': [*one_thread, 'queue/1-thread/batches-64', 'queue/1000-producers', *spawned, 'task/when-all-2',
                    *called, STOP],
    'libcoro_peer': [*one_thread, 'queue/1000-producers', *spawned, 'task/when-all-2', *called, STOP],
    'concurrencpp_peer': [*one_thread, 'queue/1000-producers', *spawned, *called],
    'bare_queue_peer': [*one_thread, 'queue/1000-producers'],
    'bare_task_peer': [*spawned, *called],
    'toomanycooks_sync_peer': ['sync/mutex', 'sync/mutex/2-threads', 'sync/semaphore', *turns, 'sync/event/set',
                               'sync/event/wait', 'sync/event/wake-100'],
    'corral_sync_peer': ['sync/mutex', 'sync/semaphore', *turns, 'sync/event/wait', 'sync/event/wake-100'],
    'libcoro_sync_peer': ['sync/mutex', 'sync/mutex/2-threads', 'sync/semaphore', 'sync/held-100', 'sync/event/set',
                          'sync/event/wait', 'sync/event/wake-100'],
    'tokio_sync_peer': ['sync/mutex', 'sync/mutex/2-threads', 'sync/semaphore', *turns, 'sync/event/wake-100',
                        'sync/broadcast-10', 'sync/broadcast-10/waiting', 'sync/watch', 'sync/watch-10/waiting'],
    'std_mutex_sync_peer': ['sync/mutex', 'sync/mutex/2-threads', 'sync/broadcast-10', 'sync/watch'],
    'asio_operation_peer': ['asio/timer', 'asio/socket-pair', 'asio/echo-1', 'asio/echo-50'],
    'asio_http_peer': ['http/get', 'http/get-limits'],
    'bare_sync_peer': ['sync/hand-over-2', 'sync/hand-over-100', 'sync/event/wake-100'],
}


def compiler():
    """Returns the compiler of the build and its major version, such as 'g++ 12'."""
    commands = json.loads((build / 'compile_commands.json').read_text())
    program = [word for word in commands[0]['command'].split() if word != 'ccache'][0]
    done = subprocess.run([program, '-dumpversion'], capture_output=True, text=True, check=True)
    name = re.sub(r'-\d+$', '', pathlib.Path(program).name)
    return f"{name} {done.stdout.split('.')[0].strip()}"


def kind():
    """Returns the compiler and, if it is Boost's, the Asio: the name of the build in the record."""
    options = json.loads((build / 'meson-info' / 'intro-buildoptions.json').read_text())
    asio = next(option['value'] for option in options if option['name'] == 'asio')
    return compiler() + (', Boost.Asio' if asio == 'boost' else '')


# Each program keeps to a processor of its own, as many at a time as there are processors.
free_processors = queue.SimpleQueue()
for processor in os.sched_getaffinity(0):
    free_processors.put(processor)


def instructions(program, *arguments, part=False):
    """`part`: counts only the part that the program selects with toggle_count()."""
    # Meson sets MALLOC_PERTURB_, with which malloc() fills memory; this would count.
    environment = {**os.environ, 'LEAT_IO': 'threads', 'MALLOC_PERTURB_': '0'}
    own = free_processors.get()
    try:
        done = subprocess.run(
            ['taskset', '--cpu-list', str(own), 'valgrind', '--tool=callgrind', '--callgrind-out-file=/dev/null',
             f'--collect-atstart={"no" if part else "yes"}', build / 'benches' / program, *map(str, arguments)],
            capture_output=True, text=True, timeout=300, env=environment)
    finally:
        free_processors.put(own)
    found = re.search(r'Collected : (\d+)', done.stderr)
    if done.returncode != 0 or not found:
        sys.exit(f'{program} {" ".join(map(str, arguments))}: exit status {done.returncode}: {done.stderr}')
    return int(found[1])


def per_item(program, workload, runs=1):
    """Returns the difference of two numbers of items, each the least of some runs."""
    few, many, items = FEW, MANY, (MANY - FEW) * 1.1  # Each program first runs a tenth of the items to warm up.
    if workload == 'task/fib-25':
        few, many, items = 0, 1, 242_785  # the calls of one fib(25), the least number above 0
    if workload == STOP:
        few, many, items = 1_000, 6_000, 5_000  # without a warm-up
    part = workload == STOP or program.startswith('toomanycooks')
    fewer, more = (min(instructions(program, '--workload', workload, '--items', n, part=part) for _ in range(runs))
                   for n in (few, many))
    return round((more - fewer) / items, 1)


def data_file(kind, size, *parameters):
    data = build / 'bench-data'
    data.mkdir(exist_ok=True)
    path = data / '-'.join([kind, str(size), *parameters])
    if not path.exists():
        subprocess.run([build / 'benches' / 'bench_data', kind, path, str(size), *parameters],
                       check=True)
    return path


def items_in(path, kind):
    """Returns the number of rows of a CSV file, or of records of a TFRecord file or of a directory of them."""
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
    # Each program reads its file twice: the first time is to warm up.
    small, large = (data_file(kind, size, *parameters) for size in (SMALL, LARGE))
    more = instructions(program, '--workload', workload, '--file', large)
    more -= instructions(program, '--workload', workload, '--file', small)
    return round(more / (items_in(large, kind) - items_in(small, kind)) / 2, 1)


def count_all(rows):
    """Calls count(*of) for each row (name, count, *of), and returns the names and the results in order."""
    for _, count, *of in rows:
        if count is per_record:
            for size in (SMALL, LARGE):
                data_file(of[2], size, *of[3:])  # before two rows need the same file
    with concurrent.futures.ThreadPoolExecutor(free_processors.qsize()) as pool:
        yield from zip((name for name, *_ in rows), pool.map(lambda row: row[1](*row[2:]), rows))


def subject(program, workload):
    done = subprocess.run([build / 'benches' / program, '--workload', workload, '--items', str(FEW)],
                          capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)['subject']


def count_peers():
    """Adds the counts of the peers to the record, each the least of three runs, because some peers have threads of
    their own."""
    known = json.loads(record.read_text()) if record.exists() else {'versions': {}, 'instructions': {}}
    built = [(name, program) for program, names in peers.items() if (build / 'benches' / program).exists()
             for name in names]
    rows = [((name, subject(program, name)), per_item, program, name, 3) for name, program in built]
    for (name, peer), count in count_all(rows):
        print(f'{name}: {peer}: {count}', flush=True)
        known['instructions'].setdefault(name, {})[peer] = count
    given = dict(text.split('=', 1) for text in options[1:])
    own = dict.fromkeys(('bare coroutines', 'std::mutex'), compiler())
    versions = {**own, **bench_ratios.package_versions(), **given}
    counted = {peer for counts in known['instructions'].values() for peer in counts}
    known['versions'] |= {name: version for name, version in versions.items()
                          if any(peer.startswith(name) for peer in counted)}
    record.write_text(json.dumps(known, indent=2) + '\n')


if not shutil.which('valgrind'):
    print('valgrind is not installed: skipped')
    sys.exit(SKIPPED)
if options[:1] == ['--peers']:
    count_peers()
    sys.exit()
recorded = json.loads(record.read_text()) if record.exists() else {}
if not write and kind() not in recorded:
    print(f"the record has {'; '.join(recorded)}, but the build is {kind()}: skipped")
    sys.exit(SKIPPED)
counts = {}
bad = 0
counted = [(name, per_item, program, name) for program, names in workloads.items()
           if (build / 'benches' / program).exists() for name in names]
counted += [(name, per_record, name, *of) for name, of in readings.items()]
for name, count in count_all(counted):
    counts[name] = count
    if write:
        print(f'{name}: {count}', flush=True)
        continue
    was = recorded[kind()].get(name)
    good = was is not None and abs(count - was) <= TOLERANCE * was
    print(f'{name}: {count}, recorded {was}{"" if good else ": DIFFERS"}', flush=True)
    bad += not good
if write:
    record.write_text(json.dumps({**recorded, kind(): counts}, indent=2) + '\n')
if bad:
    print('If the change is intended, write a new record with ./dev bench --instructions.')
sys.exit(1 if bad else 0)
