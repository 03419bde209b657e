#!/usr/bin/env python3
"""Kills a job with SIGKILL at random times and restarts it until it is done, repeatedly.

    kill.py COPY_RECORDS [KILLS [SEED]]

After each kill, every file with a final name is complete. Every acknowledged file exists, and these
files contain the first records of the input, each once. All other files are named .partial. After
the last start the output has all records, and there are no other files.
"""

import pathlib
import random
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / 'support'))
from tfrecord_bytes import framed

program = sys.argv[1]
kills_wanted = int(sys.argv[2]) if len(sys.argv) > 2 else 50
seed = int(sys.argv[3]) if len(sys.argv) > 3 else time.time_ns()
chance = random.Random(seed)

def fail(what):
    sys.exit(f'kill: {what}; again: the same with {kills_wanted} {seed}')


def check(out, records, whole_files, done):
    """Checks that the acknowledged files contain the first records. Returns their number."""
    log = (out / 'log').read_text() if (out / 'log').exists() else ''
    acknowledged = [line.split() for line in log.splitlines(keepends=True) if line.endswith('\n')]
    at = 0
    for name, count in acknowledged:
        expected = b''.join(records[at:at + int(count)])
        at += int(count)
        if not (out / name).exists():
            fail(f'{name} is acknowledged and missing')
        if (out / name).read_bytes() != expected:
            fail(f'{name} is acknowledged and is not what it should be')
    names = {name for name, _ in acknowledged}
    if len(names) != len(acknowledged):
        fail('a file is acknowledged twice')
    partial = 0
    for path in out.iterdir():
        if path.name == 'log' or path.name in names:
            continue
        if '.partial' in path.name:
            partial += 1
        elif path.read_bytes() not in whole_files:
            fail(f'{path.name} has its name and is not whole')
    if done and (at != len(records) or partial > 0):
        fail(f'{at} of {len(records)} records, {partial} partial files at the end')
    return at, partial


kills = jobs = left_behind = 0
while kills < kills_wanted:
    jobs += 1
    per_file = chance.randrange(20, 200)
    records = [framed(f'record {i} '.encode() + b'x' * chance.randrange(60))
               for i in range(chance.randrange(500, 2500))]
    whole_files = {b''.join(records[i:i + per_file]) for i in range(0, len(records), per_file)}
    with tempfile.TemporaryDirectory() as temporary:
        source, out = pathlib.Path(temporary, 'in'), pathlib.Path(temporary, 'out')
        source.mkdir()
        out.mkdir()
        at = 0
        while at < len(records):
            count = chance.randrange(1, 900)
            (source / f'{at:06}.tfrecord').write_bytes(b''.join(records[at:at + count]))
            at += count
        command = [program, source, out, str(per_file)]
        longest = 0.03
        for attempt in range(1000):
            process = subprocess.Popen(command)
            try:
                # After 16 attempts the job may finish, because a job that is always killed never
                # ends.
                patience = 60 if attempt > 15 else chance.uniform(0, longest)
                status = process.wait(patience)
            except subprocess.TimeoutExpired:
                if attempt > 15:
                    fail('the job hangs')
                process.kill()
                process.wait()
                kills += 1
                left_behind += check(out, records, whole_files, False)[1] > 0
                continue
            if status != 0:
                fail(f'the job ended with {status}')
            check(out, records, whole_files, True)
            break
print(f'{kills} kills in {jobs} jobs, {left_behind} of them within a file; seed {seed}: '
      'nothing lost, nothing twice')
