#!/usr/bin/env python3
"""Kills a training job with SIGKILL, at random times and at each of its crash points, and restarts it
until it is done, repeatedly.

    kill_training.py TRAIN_CPP CRASH_SHIM [KILLS [SEED]]

After any number of kills, the learnt records and all bits of the weights equal those of an
uninterrupted job, and every record was learnt once in each epoch. The event files contain each
point of the loss curve. The program prints the number of kills at each crash point. With 500 kills
or more, each crash point must have at least one.
"""

import os
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / 'support'))
from tfrecord_bytes import framed

program, shim = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
kills_wanted = int(sys.argv[3]) if len(sys.argv) > 3 else 50
seed = int(sys.argv[4]) if len(sys.argv) > 4 else time.time_ns()
chance = random.Random(seed)
epochs = 4
patience = 60  # seconds
long_run = 500

# The next operation of the job at each crash point. Between two of these points the job changes
# nothing that a crash could leave incomplete. The job passes the points of the second list
# repeatedly.
once = ['directory: make it', 'lock: make it', 'lock: take it', 'lock: empty it',
        'lock: write the holder', 'events: make the file']
often = ['events: write',
         *(f'{what}: {step}'
           for what in ('checkpoint', 'state file', 'state file behind a removal')
           for step in ('make the temporary file', 'write it', 'sync it', 'rename it',
                        'sync the directory')),
         'old checkpoint: remove it', 'temporary file: remove it']


def fail(what):
    sys.exit(f'kill_training: {what}; again: the same with {kills_wanted} {seed}')


def make_shards(folder):
    count = 0
    for shard in range(4):
        lines = [f'{chance.choice("+-")}int line_{chance.randrange(10**6)} = {i};'.encode()
                 for i in range(chance.randrange(200, 900))]
        (folder / f'{shard}.tfrecord').write_bytes(b''.join(framed(line) for line in lines))
        count += len(lines)
    return count


def result_of(output):
    found = re.search(r'^(\d+) steps, learnt (\d+) records, .*$', output, re.M)
    return (found[0], int(found[2])) if found else None


class job:
    """A job that is restarted repeatedly, in its own directory."""

    def __init__(self, shards, folder):
        self.shards, self.folder = shards, folder
        self.begun_from = []

    def start(self, kill_after=None, crash=None):
        """Returns the output of a job that ended by itself, or None if it was killed."""
        # The job saves a checkpoint each millisecond. A step takes as long, so checkpoints have
        # time to finish.
        command = [program, self.shards, self.folder / 'run', str(epochs), '1', '1000']
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                                   env={**os.environ, **self.crashing(crash)} if crash else None)
        try:
            output, _ = process.communicate(timeout=kill_after or patience)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
            if not kill_after:
                fail('the job hangs')
        self.begun_from += re.findall(r'at step (\d+)', output)
        if process.returncode == -9:
            return None
        if process.returncode != 0:
            fail(f'the job ended with {process.returncode}')
        return output

    @staticmethod
    def crashing(label):
        count = chance.choice([1, 1, 2, 3, 5, 8]) if label in often else 1
        return {'LD_PRELOAD': shim, 'LEAT_IO': 'threads', 'LEAT_CRASH_AT': label,
                'LEAT_CRASH_COUNT': str(count)}


def check(output, expected, records):
    result = result_of(output)
    if result is None:
        fail('the job does not say what it has learnt')
    if result[0] != expected:
        fail(f'"{result[0]}" in the place of "{expected}"')
    if result[1] != epochs * records:
        fail(f'{result[1]} records learnt of {epochs} times {records}')


def whole_records(plain):
    """Yields the records of an event file up to a truncated one."""
    while len(plain) >= 16:
        size, = struct.unpack_from('<Q', plain)
        if len(plain) < 16 + size:
            break
        yield plain[12:12 + size]
        plain = plain[16 + size:]


def varint(plain, at):
    value = shift = 0
    while True:
        byte = plain[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def loss_steps(record):
    """Returns the step of an event with a value of 'loss' in a set, or an empty set for another event."""
    step, has_loss, at = 0, False, 0
    while at < len(record):
        key, at = varint(record, at)
        if key & 7 == 1:
            at += 8
        elif key & 7 == 0:
            value, at = varint(record, at)
            step = value if key >> 3 == 2 else step
        else:
            size, at = varint(record, at)
            has_loss |= key >> 3 == 5 and b'loss' in record[at:at + size]
            at += size
    return {step} if has_loss else set()


def check_curve(folder, output):
    steps = int(output.split(' steps, ')[0].split()[-1])
    found = set()
    for path in folder.glob('run/events.out.tfevents.*'):
        for record in whole_records(path.read_bytes()):
            found |= loss_steps(record)
    missing = sorted(set(range(20, steps + 1, 20)) - found)
    if missing:
        fail(f'the event files have no loss of step {missing[0]}, of {steps} steps')


def kill_at_random_times(killed, took):
    """Returns the final output and the number of kills."""
    for kills in range(12):
        output = killed.start(kill_after=chance.uniform(0.001, took))
        if output is not None:
            return output, kills
    return killed.start(), 12  # a job that is always killed never ends


def kill_at_crash_points(struck, hits):
    """Like kill_at_random_times(), but at crash points, those with the fewest kills first."""
    for kills in range(6):
        fewest = min(hits.values())
        label = chance.choice([each for each, count in hits.items() if count <= fewest + 1])
        output = struck.start(crash=label)
        if output is not None:
            return output, kills  # it passed the crash point less often
        hits[label] += 1
    return struck.start(), 6


kills = jobs = resumed = at_random = 0
hits = dict.fromkeys([*once, *often], 0)
while kills < kills_wanted:
    jobs += 1
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        (folder / 'shards').mkdir()
        records = make_shards(folder / 'shards')

        def a_job(name):
            (folder / name).mkdir()
            return job(folder / 'shards', folder / name)

        begin = time.monotonic()
        whole = a_job('whole').start()
        took = time.monotonic() - begin
        expected = result_of(whole)[0]
        check(whole, expected, records)

        for number in range(6):
            again = a_job(str(number))
            if number == 0:
                output, count = kill_at_random_times(again, took)
                at_random += count
            else:
                output, count = kill_at_crash_points(again, hits)
            check(output, expected, records)
            check_curve(again.folder, output)
            kills += count
            resumed += sum(step != '0' for step in again.begun_from)

print(f'{at_random:6} at random times')
for label, count in hits.items():
    print(f'{count:6} {label}')
missed = [label for label, count in hits.items() if count == 0]
if len(missed) == len(hits) or (missed and kills_wanted >= long_run):
    fail('never killed at ' + ', '.join(missed))
print(f'{kills} kills in {jobs} jobs, {resumed} starts from a checkpoint; seed {seed}: '
      'nothing lost, nothing twice')
