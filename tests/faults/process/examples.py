#!/usr/bin/env python3
"""Runs every example program with its n-th allocation, or its n-th system call on a file, failing.

    examples.py BUILD_FOLDER [--stacks] [PLACES [KIND [PROGRAM...]]]

PLACES: the largest number of values of n for each program and fault. --stacks: also the first one
of each call stack. KIND: allocation or call (default: both). Each run must end by itself within a
minute, normally or with a status, never with a signal. Status 70: main() does not catch an error.
Every program that Meson lists as an example is in commands() or NOT_RUN.
"""

import collections
import concurrent.futures
import contextlib
import errno
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

tests = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(tests / 'support'), str(tests / 'examples')]
from database_servers import NotInstalled, Postgres, Redis
from tfrecord_bytes import framed

given = [a for a in sys.argv[1:] if a != '--stacks']
each_stack = '--stacks' in sys.argv
build = pathlib.Path(given[0])
places = int(given[1]) if len(given) > 1 else 1_000_000
kinds = given[2:3] or ['allocation', 'call']
programs = given[3:]
patience = 60  # seconds
shim = build / 'tests' / 'libshim.so'

FAULTS = [('allocation', 0), ('call', errno.EIO), ('call', errno.ENOSPC), ('call', errno.EMFILE)]

# These take seconds each, so one place in ten is tested, and --stacks skips them.
SLOW = ['checkpoints', 'migration']
SERVERS = ['batch_server', 'gateway', 'proxy']
ENDED_BY_SIGTERM = ['gateway', 'proxy']
# Asio calls the initiating function of an operation in its coroutines from a noexcept function. If
# there is no memory for it, the process ends. asio_memory shows this without leat, and its results
# are only printed. Of lossless_timeout, the part that belongs to leat runs. async_accept() throws
# out of io_context::run() if there is no memory for the socket that it has accepted.
BESIDE = ['asio_memory']
# gRPC and Protobuf end the process if they lack memory. tests/http runs the programs of Beast.
NOT_RUN = {'grpc_client', 'grpc_cost', 'grpc_server', 'http_chat', 'http_client', 'http_server'}
DATABASES = {'postgres': Postgres, 'redis': Redis}
ENDS_BY_ASIO = {('asio_service', 'allocation'): 'signal 6', ('asio_awaitable', 'allocation'): 'signal 6',
                ('batch_server', 'allocation'): 'signal 6', ('gateway', 'allocation'): 'signal 6',
                ('proxy', 'allocation'): 'signal 6'}


def built():
    """Returns the example programs of this build, by their Meson names."""
    targets = json.loads((build / 'meson-info' / 'intro-targets.json').read_text())
    return {t['name'] for t in targets if t['type'] == 'executable' and
            pathlib.Path(t['defined_in']).parent.name == 'examples'}


def commands(folder, databases):
    (folder / 'in').mkdir()
    for i in range(3):
        (folder / 'in' / f'{i}.txt').write_text('a line\n' * 50)
    yield 'queue', []
    yield 'own_operation', []
    yield 'asio_service', []
    yield 'asio_awaitable', []
    yield 'read_lines', [f'{folder}/in/*.txt']
    yield 'read_descriptor', []
    yield 'producers', [f'{folder}/in/*.txt']
    yield 'tfrecord', [f'{folder}/RUN.tfrecord']
    yield 'simulation', []
    yield 'learn_cpp', ['--cpp', f'{folder}/in', '--c', f'{folder}/in', '--epochs', '1']
    (folder / 'shards').mkdir()
    (folder / 'shards' / '0.tfrecord').write_bytes(framed(b'+int main() {}') * 300)
    yield 'train_cpp', [f'{folder}/shards', f'{folder}/RUN.run', '1', '1']
    yield 'summaries', [f'{folder}/RUN.events']
    yield 'checkpoints', [f'{folder}/RUN.saved']
    yield 'pipeline', [f'{folder}/RUN.points']
    yield 'planned_pipeline', ['lines', f'{folder}/in/*.txt', '8']
    yield 'migration', [f'{folder}/RUN.migration']
    yield 'global_shuffle', [f'{folder}/RUN.shuffled']
    yield 'shards', [f'{folder}/in/0.txt', f'{folder}/RUN.shards']
    yield 'batches', []
    yield 'micro_batches', []
    yield 'typed_columns', []
    yield 'typed_elements', []
    yield 'damaged_files', []
    yield 'lossless_timeout', ['300']
    yield 'concurrency', []
    yield 'sequences', []
    yield 'synchronization', []
    yield 'tracing', [f'{folder}/RUN.trace']
    yield 'partial_read', []
    yield 'batch_server', ['100']
    yield 'gateway', ['500', '500']
    yield 'proxy', [f'127.0.0.1:{echo_server()}', '1', '1']
    yield 'embed_epoll', []
    yield 'embed_glib', []
    yield 'embed_libuv', [f'{folder}/in/0.txt']
    yield 'observability', [f'{folder}/RUN.spans', 'book=']
    yield 'sqlite', []
    for name, server in databases.items():
        yield name, [server.address, '1']
    yield 'asio_memory', []


def start_databases(folder, stack):
    """Starts the servers that are installed and returns them by the names of their example programs."""
    servers = {}
    for name, server in DATABASES.items():
        if name in built() and (not programs or name in programs):
            try:
                servers[name] = stack.enter_context(server(folder))
            except NotInstalled as missing:
                print(f'{name} is not run: {missing}')
                NOT_RUN.add(name)
    return servers


def be_client(port):
    """Receives batches until the server stops listening, and reconnects after a disconnect."""
    while True:
        try:
            with socket.create_connection(('127.0.0.1', port), timeout=patience) as client:
                while client.recv(1 << 16):
                    client.sendall(b'ok\n')
        except ConnectionRefusedError:
            return
        except OSError:
            pass
        time.sleep(0.01)


def echo_server():
    """Starts a server that returns each byte to its client, and returns its port."""
    def echo(client):
        try:
            with client:
                while piece := client.recv(1 << 16):
                    client.sendall(piece)
        except OSError:
            pass

    def accept(listener):
        while True:
            threading.Thread(target=echo, args=[listener.accept()[0]], daemon=True).start()

    listener = socket.create_server(('127.0.0.1', 0))
    threading.Thread(target=accept, args=[listener], daemon=True).start()
    return listener.getsockname()[1]


def ask_once(port, process):
    """Sends a line, waits for a line or the end of the connection, and sends SIGTERM."""
    try:
        with socket.create_connection(('127.0.0.1', port), timeout=10) as client:
            client.sendall(b'1\n')
            client.recv(1 << 16)
    except OSError:
        pass
    process.terminate()


def run_to_end(name, command, environment):
    """Returns the status and standard error. A server gets a client after it has printed its port."""
    process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, errors='replace')
    first = process.stdout.readline() if name in SERVERS else ''
    if first.startswith('port '):
        client, *others = (ask_once, process) if name in ENDED_BY_SIGTERM else (be_client,)
        threading.Thread(target=client, args=[int(first.split()[1]), *others], daemon=True).start()
    try:
        _, words = process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return process.returncode, words


def run(name, arguments, number, environment):
    place = 'tests' if name in BESIDE else 'examples'
    command = [build / place / name] + [a.replace('RUN', str(number)) for a in arguments]
    asan = os.environ.get('ASAN_OPTIONS', '') + ':verify_asan_link_order=0'
    environment = {**os.environ, 'LD_PRELOAD': str(shim), 'ASAN_OPTIONS': asan,
                   'TMPDIR': str(scratch), **environment}
    try:
        status, words = run_to_end(name, command, environment)
    except subprocess.TimeoutExpired:
        return 'hangs', ''
    finally:
        for left in scratch.parent.glob(f'{number}.*'):
            if left.is_dir():
                shutil.rmtree(left, True)
            else:
                left.unlink()
    # std::filesystem reads directories in noexcept functions.
    if status == -signal.SIGABRT and 'filesystem10remove_all' in words:
        return 'aborted by std::filesystem::remove_all', words
    # A fault may end the guard that handles the signal before the signal arrives.
    if status == -signal.SIGTERM and name in ENDED_BY_SIGTERM:
        return 'status of SIGTERM', words
    if status < 0:
        return f'signal {-status}', words
    if 'Sanitizer' in words:
        return 'sanitizer', words
    return 'well' if status == 0 else f'status {status}', words


bad = 0
with contextlib.ExitStack() as stack:
    folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
    scratch = folder / 'temporary'
    scratch.mkdir()
    every = dict(commands(folder, start_databases(folder, stack)))
    forgotten = built() - set(every) - NOT_RUN if not programs else set()
    if forgotten:
        sys.exit(f'not in commands(): {", ".join(sorted(forgotten))}')
    for name, arguments in every.items():
        if programs and name not in programs or name not in built() and name not in BESIDE:
            continue
        for backend in ('threads', 'uring') if name not in BESIDE else ('none',):
            base = {'LEAT_IO': backend}
            counted, stacks = folder / 'count', folder / 'stacks'
            counted.unlink(missing_ok=True)
            stacks.unlink(missing_ok=True)
            watched = {'LEAT_SHIM_STACKS': str(stacks)} if each_stack and name not in SLOW else {}
            how, words = run(name, arguments, 0,
                             {**base, 'LEAT_SHIM_COUNT': str(counted), **watched})
            if 'is refused' in words:
                continue
            if how != 'well':
                sys.exit(f'{name} without a fault: {how}\n{words}')
            counts = counted.read_text().split()
            firsts = [line.split() for line in stacks.read_text().splitlines()] if watched else []
            for kind, error in (f for f in FAULTS if f[0] in kinds):
                count = int(counts[kind == 'call'])
                step = max(1, count * (10 if name in SLOW else 1) // places)
                first = {int(n) for what, n in firsts if what == kind}
                tried = sorted(first | set(range(0, count, step)))
                with concurrent.futures.ThreadPoolExecutor(2) as pool:
                    results = list(pool.map(
                        lambda n: (n, *run(name, arguments, n, {
                            **base, 'LEAT_SHIM': kind, 'LEAT_SHIM_FAIL': str(n),
                            'LEAT_SHIM_ERROR': str(error)})), tried))
                ends = collections.Counter(how for _, how, _ in results)
                what = errno.errorcode[error] if error else 'no memory'
                print(f'{name:16} {backend:8} {kind:10} {what:9} {len(results):6} of {count:6}: ' +
                      f'{len(first)} call stacks: ' * each_stack +
                      ', '.join(f'{n} {how}' for how, n in sorted(ends.items())), flush=True)
                wrong = [r for r in results if not r[1].startswith(('well', 'status', 'aborted by std')) and
                         r[1] != ENDS_BY_ASIO.get((name, kind))]
                if name in BESIDE:
                    continue
                bad += len(wrong)
                for n, how, words in wrong[:2]:
                    print(f'  n = {n}: {how}\n{words[-1500:]}', flush=True)
sys.exit(1 if bad else 0)
