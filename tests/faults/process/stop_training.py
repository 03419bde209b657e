#!/usr/bin/env python3
"""Stops a training job with SIGTERM at random times and restarts it until it is finished.

    stop_training.py TRAIN_CPP [STOPS [SEED]]

Every stopped job exits with 0 after it has saved the step that it reports. The next job starts at
that step, so no step is repeated. A signal that arrives before the job handles signals terminates
it. Some jobs get a second signal, which terminates them immediately, unless they have finished
before. The result equals that of a job that was never stopped.
"""

import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / 'support'))
from tfrecord_bytes import framed

program = str(pathlib.Path(sys.argv[1]).resolve())
stops_wanted = int(sys.argv[2]) if len(sys.argv) > 2 else 50
seed = int(sys.argv[3]) if len(sys.argv) > 3 else time.time_ns()
chance = random.Random(seed)
epochs = 4


def fail(what):
    sys.exit(f'stop_training: {what}; again: the same with {stops_wanted} {seed}')


def make_shards(folder):
    for shard in range(4):
        lines = [f'{chance.choice("+-")}int line_{chance.randrange(10**6)} = {i};'.encode()
                 for i in range(chance.randrange(200, 900))]
        (folder / f'{shard}.tfrecord').write_bytes(b''.join(framed(line) for line in lines))


def run(shards, logdir, stop_after=None, twice=False, terminated=False):
    """Returns the exit status and the output. Saves checkpoints only at the end, or often.

    terminated: a second signal ended an earlier job, possibly before it listed its first
    checkpoint. Later jobs report such a checkpoint.
    """
    between = chance.choice(['600000', '3'])
    command = [program, shards, logdir, str(epochs), between, '2000']
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if stop_after is not None:
        try:
            process.wait(stop_after)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM)
            if twice:
                time.sleep(chance.uniform(0, 0.005))
                process.send_signal(signal.SIGTERM)
    try:
        output, errors = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        fail('the job hangs')
    if errors and not (terminated and 'state file is missing' in errors):
        fail(f'the job prints: {errors}')
    return process.returncode, output


def steps_of(pattern, output):
    found = re.search(pattern, output, re.M)
    return int(found[1]) if found else None


stops = early = killed = jobs = 0
while stops < stops_wanted:
    jobs += 1
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        (folder / 'shards').mkdir()
        make_shards(folder / 'shards')
        began = time.monotonic()
        status, expected = run(folder / 'shards', folder / 'whole')
        took = time.monotonic() - began
        if status != 0:
            fail(f'the job that is not stopped ends with {status}')
        at = 0  # the saved step
        terminated = False
        for attempt in range(12):
            twice = chance.random() < 0.2
            status, output = run(folder / 'shards', folder / 'run', chance.uniform(0, took / 3), twice,
                                 terminated)
            begins = steps_of(r'at step (\d+)$', output)
            if begins is not None and begins != at:
                fail(f'a job begins at step {begins}, where {at} was saved')
            stopped = steps_of(r'^stopped at step (\d+)', output)
            if status == -signal.SIGTERM and (twice or begins is None):
                # Before the handler was installed, or by the second signal: then saved or not.
                if twice:
                    killed += 1
                    terminated = True
                    status, output = run(folder / 'shards', folder / 'run', 0.1,
                                         terminated=terminated)
                    at = (steps_of(r'^stopped at step (\d+)', output) or
                          steps_of(r'^(\d+) steps, learnt', output) or at)
                else:
                    early += 1
                continue
            if status == -signal.SIGTERM and ' steps, learnt ' in output:
                break  # it had finished and no longer handles signals
            if status != 0:
                fail(f'the stopped job ends with {status} and has printed "{output}"')
            if stopped is None:
                break
            if stopped < at:
                fail(f'a job stops at step {stopped}, having begun at {at}')
            stops += 1
            at = stopped
        status, output = run(folder / 'shards', folder / 'run', terminated=terminated)
        if status != 0 or output.splitlines()[-1] != expected.splitlines()[-1]:
            fail(f'"{output}" in the place of "{expected}"')

print(f'{stops} stops of {jobs} jobs, {early} before the handler, {killed} by a second signal')
