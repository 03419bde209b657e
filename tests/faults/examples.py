#!/usr/bin/env python3
"""Every example program while its n-th allocation fails, or its n-th system call on a file.

    examples.py BUILD_FOLDER [PLACES [KIND [PROGRAM...]]]

PLACES: how many n are tried for each program and fault; all where there are fewer. KIND: allocation
or call; else both. Each run has to end by itself within ten seconds, well or with a status, never by
a signal. Status 70: an error that main() does not catch.
"""

import collections
import concurrent.futures
import errno
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / 'support'))
from tfrecord_bytes import framed

build = pathlib.Path(sys.argv[1])
places = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
kinds = sys.argv[3:4] or ['allocation', 'call']
programs = sys.argv[4:]
shim = build / 'tests' / 'libshim.so'

FAULTS = [('allocation', 0), ('call', errno.EIO), ('call', errno.ENOSPC), ('call', errno.EMFILE)]


def commands(folder):
    (folder / 'in').mkdir()
    for i in range(3):
        (folder / 'in' / f'{i}.txt').write_text('a line\n' * 50)
    yield 'queue', []
    yield 'asio_service', []
    yield 'read_lines', [f'{folder}/in/*.txt']
    yield 'producers', [f'{folder}/in/*.txt']
    yield 'tfrecord', [f'{folder}/RUN.tfrecord']
    yield 'simulation', []
    yield 'learn_cpp', ['--cpp', f'{folder}/in', '--c', f'{folder}/in', '--epochs', '1']
    (folder / 'shards').mkdir()
    (folder / 'shards' / '0.tfrecord').write_bytes(framed(b'+int main() {}') * 300)
    yield 'train_cpp', [f'{folder}/shards', f'{folder}/RUN.run', '1', '1']
    yield 'summaries', [f'{folder}/RUN.events']
    yield 'pipeline', [f'{folder}/RUN.points']
    yield 'global_shuffle', [f'{folder}/RUN.shuffled']
    yield 'shards', [f'{folder}/in/0.txt', f'{folder}/RUN.shards']
    yield 'batches', []
    yield 'typed_columns', []
    yield 'damaged_files', []


def run(name, arguments, number, environment):
    command = [build / 'examples' / name] + [a.replace('RUN', str(number)) for a in arguments]
    asan = os.environ.get('ASAN_OPTIONS', '') + ':verify_asan_link_order=0'
    environment = {**os.environ, 'LD_PRELOAD': str(shim), 'ASAN_OPTIONS': asan,
                   'TMPDIR': str(scratch), **environment}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True,
                              errors='replace', timeout=10)
    except subprocess.TimeoutExpired:
        return 'hangs', ''
    finally:
        for left in scratch.parent.glob(f'{number}.*'):
            if left.is_dir():
                shutil.rmtree(left, True)
            else:
                left.unlink()
    if done.returncode < 0:
        return f'signal {-done.returncode}', done.stderr
    if 'Sanitizer' in done.stderr:
        return 'sanitizer', done.stderr
    return 'well' if done.returncode == 0 else f'status {done.returncode}', done.stderr


bad = 0
with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    scratch = folder / 'temporary'
    scratch.mkdir()
    for name, arguments in commands(folder):
        if programs and name not in programs:
            continue
        for backend in ('threads', 'uring'):
            base = {'LEAT_IO': backend}
            counted = folder / 'count'
            how, words = run(name, arguments, 0, {**base, 'LEAT_SHIM_COUNT': str(counted)})
            if 'is refused' in words:
                continue
            if how != 'well':
                sys.exit(f'{name} without a fault: {how}\n{words}')
            counts = counted.read_text().split()
            for kind, error in (f for f in FAULTS if f[0] in kinds):
                count = int(counts[kind == 'call'])
                step = max(1, count // places)
                with concurrent.futures.ThreadPoolExecutor(2) as pool:
                    results = list(pool.map(
                        lambda n: (n, *run(name, arguments, n, {
                            **base, 'LEAT_SHIM': kind, 'LEAT_SHIM_FAIL': str(n),
                            'LEAT_SHIM_ERROR': str(error)})), range(0, count, step)))
                ends = collections.Counter(how for _, how, _ in results)
                what = errno.errorcode[error] if error else 'no memory'
                print(f'{name:12} {backend:8} {kind:10} {what:9} {len(results):6} of {count:6}: ' +
                      ', '.join(f'{n} {how}' for how, n in sorted(ends.items())), flush=True)
                wrong = [r for r in results if not r[1].startswith(('well', 'status'))]
                bad += len(wrong)
                for n, how, words in wrong[:2]:
                    print(f'  n = {n}: {how}\n{words[-1500:]}', flush=True)
sys.exit(1 if bad else 0)
