#!/usr/bin/env python3
"""Measures leat and its peers. Each run of a subject is a process of its own; the subjects of a workload
are interleaved. Prints medians, ranges and ratios, with the goals and the quoted results of
benches/goals.json.

usage: bench.py BUILD [--runs N] [--tiny] [--only REGEX]
       bench.py BUILD --list    prints each workload and its programs, and runs nothing
       bench.py BUILD --record [--peer NAME=VERSION]...
                                also records the medians, ranges and versions of the tracked workloads
       bench.py BUILD --guard   fails if a ratio is more than 10 % lower than the recorded one
"""

import argparse
import json
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import sys

import bench_ratios
import bench_table

parser = argparse.ArgumentParser(description='Measures leat and its peers.')
parser.add_argument('build', type=pathlib.Path, help='a build directory')
parser.add_argument('--runs', type=int, default=0, help='runs of each subject (default: 7; 5 to record; 3 to guard)')
parser.add_argument('--tiny', action='store_true', help='one run of each subject with little data, as a test')
parser.add_argument('--only', default='', metavar='REGEX', help='run only the matching workloads')
parser.add_argument('--list', action='store_true', help='print the workloads and their programs, and run nothing')
parser.add_argument('--record', action='store_true', help='record the ratios of the tracked workloads')
parser.add_argument('--peer', action='append', default=[], metavar='NAME=VERSION',
                    help='the version to record for a peer that has no Debian package')
parser.add_argument('--guard', action='store_true', help='compare the ratios of the tracked workloads with the recorded ones')
options = parser.parse_args()
runs = 1 if options.tiny else options.runs or (5 if options.record else 3 if options.guard else 7)
tracked_only = options.record or options.guard

programs = options.build / 'benches'
sources = pathlib.Path(__file__).resolve().parent.parent / 'benches' / 'peers'
data = options.build / 'bench-data'
MIB = 1 << 20
size = MIB if options.tiny else 256 * MIB
items = 20_000 if options.tiny else 1_000_000 if tracked_only else 3_000_000
million = 6_000 if options.tiny else 1_000_000
FIB_CALLS = 242_785  # of fib(25)


def data_file(kind, *parameters):
    path = data / '-'.join([kind, str(size), *map(str, parameters)])
    if not options.list and not path.exists():
        data.mkdir(exist_ok=True)
        subprocess.run([programs / 'bench_data', kind, path, str(size), *map(str, parameters)],
                       check=True)
    return path


PERCENTILES = ('-p50', '-p99', '-p99.9')  # of a workload whose programs print three results
# These peers move fewer items than the others.
SLOW = {('queue/2-threads', 'concurrencpp_peer'): 100, ('queue/1000-producers', 'condvar_queue_peer'): 3}


def compare(workload, *programs, count=items, measure='time', parts=('',)):
    """A program name can have a suffix for the workload's name: 'toomanycooks_peer/spins'. `parts` are the
    suffixes of the results that each program prints."""
    commands = []
    for program in programs:
        program, slash, way = program.partition('/')
        fewer = next((f for (start, slow), f in SLOW.items() if workload.startswith(start) and program == slow), 1)
        commands.append([program, '--workload', workload + slash + way, '--items', str(count // fewer),
                         '--measure', measure])
    return workload, commands, parts


def queue(workload, *peers, count=items):
    return compare(workload, 'leat_queue_bench', *peers, count=count)


def task(workload, *peers, **options):
    return compare(workload, 'leat_task_bench', *peers, **options)


def sync(workload, *peers, **options):
    """A peer 'tokio' is the program tokio_sync_peer."""
    programs = []
    for peer in peers:
        program, slash, way = peer.partition('/')
        programs.append((program if program == 'leat_sync_bench' else program + '_sync_peer') + slash + way)
    return compare('sync/' + workload, 'leat_sync_bench', *programs, **options)


def latency(workload, *peers, count=2_000):
    return compare('latency/' + workload, 'leat_latency_bench', *peers,
                   count=20 if options.tiny else count, parts=PERCENTILES)


def reading(workload, file, *programs, measure='time', count=None):
    """A program name can have a suffix for the workload's name: 'tfrecord_peer/plain'."""
    items_of = ['--items', str(count)] if count else []
    commands = []
    for program in programs:
        program, _, way = program.partition('/')
        commands.append([program, '--workload', workload + ('/' + way if way else ''), '--file',
                         str(file), '--measure', measure, *items_of])
    return workload + (', cpu' if measure == 'cpu' else ''), commands, ('',)


def tfrecord(workload, record_size, *peers, **options):
    return reading('tfrecord/' + workload, data_file('tfrecord', record_size), 'leat_record_bench',
                   *peers, **options)


def at_random(temperature, label, record_size, count, *peers):
    file = str(data_file('tfrecord', record_size))
    name = f'tfrecord/random-{temperature}/{label}'
    return name, [[p, '--workload', name, '--items', str(count), '--file', file]
                  for p in ('leat_record_bench', 'tfrecord_peer', *peers)], ('',)


one_thread = ['toomanycooks_peer', 'toomanycooks_peer/channel', 'corral_peer', 'libcoro_peer', 'concurrencpp_peer',
              'asio_channel_peer', 'fiber_channel_peer', 'bare_queue_peer']
threads = ['condvar_queue_peer', 'tbb_queue_peer', 'moodycamel_queue_peer']
two_threads = ['toomanycooks_peer', 'toomanycooks_peer/spins', *threads]
several = ['toomanycooks_peer/channel', 'fiber_channel_peer', 'libcoro_peer', 'concurrencpp_peer']
tasks = ['toomanycooks_peer', 'corral_peer', 'libcoro_peer']
ping_pong = ['toomanycooks_peer', 'toomanycooks_peer/spins', 'libcoro_peer', 'concurrencpp_peer', 'condvar_queue_peer',
             'tbb_queue_peer', 'spinning_queue_peer']
primitives = ['corral', 'libcoro', 'toomanycooks', 'tokio', 'std_mutex']
sleepers = ['toomanycooks_peer', 'corral_peer', 'asio_task_peer']
record_sizes = [('100B', 100), ('1KiB', 1024), ('100KiB', 102400)]
fio = ['fio_peer.py'] if shutil.which('fio') else []
file_peers = ['file_peer', 'asio_file_peer', 'libuv_file_peer']
comparisons = [
    *(queue(f'queue/1-thread/capacity-{c}', *one_thread) for c in (1, 64, 1024)),
    queue('queue/1-thread/batches-64', 'toomanycooks_peer', 'corral_peer', count=4 * items),
    queue('queue/1000-producers', 'toomanycooks_peer', 'toomanycooks_peer/channel', 'corral_peer', 'libcoro_peer',
          'concurrencpp_peer', 'condvar_queue_peer', 'bare_queue_peer', count=items // 10),
    *(queue(f'queue/2-threads/capacity-{c}', *two_threads, *several, 'spinning_queue_peer') for c in (64, 1024)),
    queue('queue/2-threads/batches-64', *two_threads, count=4 * items),
    *(queue(f'queue/2-threads/2-by-2/capacity-{c}', *several, *threads) for c in (64, 1024)),
    queue('queue/suspended-memory', 'toomanycooks_peer', 'corral_peer', 'libcoro_peer', 'asio_channel_peer'),
    queue('queue/suspended-frame'), queue('queue/suspended-bare-frame'),
    task('task/spawn-one', *tasks, 'concurrencpp_peer', 'bare_task_peer', count=items // 3),
    *(task('task/spawn-and-join' + m, *tasks, 'concurrencpp_peer', 'asio_task_peer', 'bare_task_peer',
           count=million if m else items // 3) for m in ('', '/million')),
    task('task/when-all-2', *tasks, 'asio_task_peer', count=items // 3),
    task('task/when-all-1000', 'toomanycooks_peer', 'libcoro_peer', count=items // 3),
    task('task/child', *tasks, 'concurrencpp_peer', 'asio_task_peer', 'bare_task_peer'),
    task('task/fib-25', *tasks, 'concurrencpp_peer', 'asio_task_peer', 'bare_task_peer', count=10 * FIB_CALLS),
    task('task/chain-1000', *tasks, 'concurrencpp_peer', 'asio_task_peer', 'bare_task_peer'),
    task('task/generator', 'leat_task_bench/child', 'asio_coro_peer', 'libcoro_peer'),
    *(task('task/blocking' + tasks, 'asio_task_peer', count=items // 100) for tasks in ('', '-64')),
    task('task/timers', *sleepers, 'bare_task_peer', count=million, measure='cpu'),
    task('task/spawned-memory', 'asio_task_peer', count=million // 3),
    *(task('task/ping-pong' + where, *ping_pong[:-1] if where else ping_pong, count=items // 100, parts=PERCENTILES)
      for where in ('', '/one-core')),
    task('task/stop', 'condvar_queue_peer'),
    task('task/stop-as-tuple', 'corral_peer', 'libcoro_peer', 'condvar_queue_peer'),
    sync('mutex', *primitives, 'std_mutex/one-thread'),
    sync('mutex/2-threads', 'libcoro', 'toomanycooks', 'tokio', 'std_mutex'),
    sync('semaphore', *primitives[:-1]),
    *(sync(f'hand-over-{n}', 'corral', 'toomanycooks', 'tokio', 'bare') for n in (2, 100, 1_000, 100_000)),
    sync('held-100', *primitives[:-1]),
    sync('hand-over/2-threads', 'leat_sync_bench/queue', 'toomanycooks', 'toomanycooks/spins', 'tokio', 'std_mutex',
         count=items // 10),
    sync('event/set', 'libcoro', 'toomanycooks'), sync('event/wait', *primitives[:3]),
    sync('event/wake-100000', *primitives[:-1], 'bare'),
    *(sync(f'broadcast-{n}', 'tokio', 'std_mutex') for n in (1, 10, 1_000)),
    *(sync(f'broadcast-{n}/waiting', 'tokio') for n in (1, 10, 1_000)),
    sync('watch', 'tokio', 'std_mutex'), sync('watch-1000/waiting', 'tokio'),
    latency('queue', 'toomanycooks_peer', 'toomanycooks_peer/spins', 'asio_channel_peer', *threads, count=5_000),
    *(latency(f'timer-{n}', *sleepers, *['condvar_queue_peer'] * (n == 1), count=1_000) for n in (1, 1_000, 1_000_000)),
    latency('stop', 'asio_task_peer', 'condvar_queue_peer'),
    *(compare(f'latency/echo-{n}', 'leat_asio_bench', 'asio_operation_peer', 'epoll_peer',
              count=2_000 if options.tiny else 50_000, parts=PERCENTILES) for n in (1, 1_000)),
    *(compare('asio/' + w, 'leat_asio_bench', 'asio_operation_peer', *['epoll_peer'] * w.startswith('echo'),
              count=items // 10) for w in ('timer', 'socket-pair', 'echo-1', 'echo-50', 'echo-1000')),
    *(compare('net/' + w, 'leat_net_bench', 'leat_socket_bench', 'asio_net_peer', count=items // 10)
      for w in ('echo-1', 'echo-64', 'echo-1000', 'connect')),
    *(compare('http/' + w, 'leat_http_bench', 'asio_http_peer', *['asio_http_peer/or'] * (w == 'get-limits'),
              count=items // 30) for w in ('get', 'get-limits')),
    *(tfrecord(f'hot-verified/{label}', n, 'tfrecord_peer', 'tfrecord_peer/plain')
      for label, n in record_sizes),
    *(tfrecord(f'hot-unverified/{label}', n, 'tfrecord_peer') for label, n in record_sizes),
    *(tfrecord('cold-direct/1KiB', 1024, *fio, measure=m) for m in ('time', 'cpu')),
    *(tfrecord('cold/1KiB', 1024, 'tfrecord_peer', 'tfrecord_peer/plain', measure=m)
      for m in ('time', 'cpu')),
    at_random('hot', '100B', 100, items // 3), at_random('hot', '1KiB', 1024, items // 3),
    at_random('hot', '100KiB', 102400, items // 300),
    # A record with its frame is one page, like a read of fio. Only a small part of the records is read:
    # for more of them, the kernel reads ahead unless it gets the hint that fio passes.
    at_random('cold', '4KiB', 4080, items // 600, *fio),
    *(at_random(way, '1KiB', 1024, items // 600, *fio) for way in ('cold', 'cold-at')),
    reading('lines/hot', data_file('text'), 'leat_record_bench', 'lines_peer', 'lines_peer/memchr'),
    reading('lines/gzip', data_file('gzip'), 'leat_record_bench', 'lines_peer'),
    reading('inflate/gzip', data_file('gzip'), 'leat_inflate_bench', 'inflate_peer',
            'inflate_peer/zlib'),
    reading('fixed/hot', data_file('fixed'), 'leat_record_bench', 'file_peer'),
    *(reading('file/hot', data_file('fixed'), 'leat_file_bench', *file_peers, measure=m)
      for m in ('time', 'cpu')),
    *(reading('file/cold', data_file('fixed'), 'leat_file_bench', *file_peers, measure=m)
      for m in ('time', 'cpu')),
    *(reading('file/cold-direct', data_file('fixed'), 'leat_file_bench', 'file_peer', *fio,
              measure=m) for m in ('time', 'cpu')),
    reading('decode/csv', data_file('csv'), 'leat_decode_bench', 'csv_peer', 'fccp_peer'),
    reading('decode/csv/2-cores', data_file('csv-files'), 'leat_decode_bench', 'csv_peer',
            'fccp_peer'),
    *(reading('decode/' + w, data_file('examples'), 'leat_decode_bench', 'examples_peer')
      for w in ('examples', 'examples/2-cores', 'examples-in-memory')),
    reading('decode/example-fields', data_file('examples'), 'leat_decode_bench'),
    *(reading(f'pipeline/{cores}{order}', data_file('examples'), 'leat_pipeline_bench',
              'thread_pipeline_peer')
      for cores in ('1-core', '2-cores') for order in ('', '/parse-first')),
    *((f'resume/{name}', [['leat_resume_bench', '--workload', f'resume/{name}', '--items',
                           str(items // 3), '--file', str(data_file('tfrecord', 100))]], ('',))
      for name in ('save', 'state', 'restore', 'go-on', 'checkpoint')),
    *((f'resume/{name}/1KiB', [['leat_resume_bench', '--workload', f'resume/{name}', '--items',
                                str(items // 3), '--file', str(data_file('tfrecord', 1024))]], ('',))
      for name in ('restore', 'go-on')),
    *(reading(f'resume/{name}', data_file('tfrecord', 100), 'leat_resume_bench', measure=m,
              count=items // 3) for m in ('time', 'cpu') for name in ('saving', 'not-saving')),
    reading('files/small-hot', data_file('files'), 'leat_file_bench', 'file_peer',
            'libuv_file_peer'),
    *(reading('files/small-cold', data_file('files'), 'leat_file_bench', 'file_peer',
              'libuv_file_peer', measure=m) for m in ('time', 'cpu')),
    *(reading('files/small-cold-direct', data_file('files'), 'leat_file_bench', 'file_peer',
              measure=m) for m in ('time', 'cpu')),
]


def machine():
    model = re.search(r'model name\s*:\s*(.*)', pathlib.Path('/proc/cpuinfo').read_text())
    return f'{model[1] if model else platform.processor()}, Linux {platform.release()}'


def run(command):
    """Returns the results that the program prints, or nothing if it is not built."""
    program = programs / command[0]
    if command[0].endswith('.py'):
        program = sources / command[0]
    if not program.exists():
        return []
    done = subprocess.run([program, *command[1:]], capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        sys.exit(f'{" ".join(map(str, command))}: exit status {done.returncode}: {done.stderr}')
    return [json.loads(line) for line in done.stdout.splitlines()]


def measure(workload, commands, parts, known):
    """Runs the commands alternately, prints their results, and returns the row of each workload. Returns nothing
    if none of the programs is built."""
    results = [[] for _ in commands]
    for _ in range(runs):
        for result, command in zip(results, commands):
            got = run(command)
            if got:
                result.append(got)
    usual_goal = [bench_ratios.goal_of] if re.search(bench_ratios.TRACKED, workload) else []
    if not any(results):
        return {}
    rows = {}
    for at, part in enumerate(parts):
        subjects = [(command[0], [r[at] for r in result]) for command, result in zip(commands, results)]
        print('\n'.join(bench_table.rows(workload + part, subjects, known, *usual_goal)), flush=True)
        built = [found for _, found in subjects if found]
        values = {found[0]['subject']: [r['value'] for r in found] for found in built}
        rows[workload + part] = {
            'unit': built[0][0]['unit'],
            'medians': {subject: statistics.median(of) for subject, of in values.items()},
            'ranges': {subject: (min(of), max(of)) for subject, of in values.items()}}
    return rows


def still_worse(comparison, recorded, known, found):
    """A ratio can be worse by chance. It counts if two more series confirm it."""
    for _ in range(2):
        if found:
            again = bench_ratios.worse(recorded, measure(*comparison, known))
            found = {key: line for key, line in again.items() if key in found}
    return list(found.values())


def main():
    known = json.loads((sources.parent / 'goals.json').read_text())
    recorded = bench_ratios.load()['machines'].get(bench_ratios.machine_kind(), {}).get('rows')
    if options.guard and not recorded:
        sys.exit(f'benches/ratios.json has no record for {bench_ratios.machine_kind()}: run bench.py --record')
    print(machine())
    print('\n'.join(bench_table.HEAD))
    measured = {}
    failures = []
    for comparison in comparisons:
        if not re.search(options.only, comparison[0]):
            continue
        if tracked_only and not re.search(bench_ratios.TRACKED, comparison[0]):
            continue
        rows = measure(*comparison, known['workloads'])
        measured.update(rows)
        if options.guard:
            found = bench_ratios.worse(recorded, rows)
            failures += still_worse(comparison, recorded, known['workloads'], found)
    print('\n'.join(['', *bench_table.notes(known)]))
    if options.record:
        given = dict(text.split('=', 1) for text in options.peer)
        bench_ratios.record(measured, {**bench_ratios.package_versions(), **given}, runs)
    if failures:
        sys.exit('\n'.join(['', 'These ratios became worse:', *failures]))


if options.list:
    for workload, commands, parts in comparisons:
        for part in parts:
            print(workload + part, *(command[0] for command in commands), sep='\t')
    sys.exit()
main()
