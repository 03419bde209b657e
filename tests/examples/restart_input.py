#!/usr/bin/env python3
"""The example train_cpp with --restart-input: the input has changed since the checkpoint.

    restart_input.py TRAIN_CPP

Without the option the job does not start, names the option of the library, and changes nothing.
With it the job keeps the step and the weights, and reads the new input from the beginning, once.
"""

import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / 'support'))
from tfrecord_bytes import framed

program = str(pathlib.Path(sys.argv[1]).resolve())
patience = 60
epochs = 2
batch_size = 100


def require(holds, what, *details):
    if not holds:
        sys.exit(f'restart_input: {what}\n' + '\n'.join(str(d) for d in details))


def write_shards(folder, sizes, word):
    folder.mkdir()
    for shard, size in enumerate(sizes):
        lines = [f'{"+-"[i % 2]}int {word}_{shard}_{i} = {i};'.encode() for i in range(size)]
        (folder / f'{shard}.tfrecord').write_bytes(b''.join(framed(line) for line in lines))


class Job:
    """A run of the job to its end, or until it is stopped in the midst of its input."""

    def __init__(self, *arguments, stopped=False):
        step = ['50000'] if stopped else []
        process = subprocess.Popen([program, *arguments, str(epochs), '600000', *step],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        first = ''
        if stopped:
            first = process.stdout.readline()  # from here on it handles signals
            time.sleep(0.2)  # of 5 s
            process.send_signal(signal.SIGTERM)
        output, self.errors = process.communicate(timeout=patience)
        self.output = first + output
        self.status = process.returncode

    def number(self, pattern):
        found = re.search(pattern, self.output, re.M)
        require(found, f'no "{pattern}" in the output', self.output, self.errors)
        return int(found[1])

    def summary(self):
        """Its last line: the steps, what was learnt, and a checksum of the weights."""
        require(self.status == 0, f'the job ends with {self.status}', self.output, self.errors)
        return self.output.splitlines()[-1]


with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    old, new, run = folder / 'old', folder / 'new', folder / 'run'
    write_shards(old, [1500, 1500, 2000], 'old')
    write_shards(new, [700, 850], 'new')
    new_records = epochs * (700 + 850)

    first = Job(old, run, stopped=True)
    require(first.status == 0, 'the first job does not stop', first.output, first.errors)
    step = first.number(r'^stopped at step (\d+)')
    require(0 < step < epochs * 5000 // batch_size, f'the first job stops at step {step}')
    before = {path.name: path.read_bytes() for path in run.iterdir()}

    refused = Job(new, run)
    require(refused.status == 1, 'a changed input is not refused', refused.output, refused.errors)
    require('saver_options::left_out = {"input"}' in refused.errors,
            'the refusal does not name the option', refused.errors)
    after = {path.name: path.read_bytes() for path in run.iterdir()}
    # Its lock file names the process.
    require({n for n in before if before[n] != after.get(n)} <= {'checkpoint.lock'} and
            before.keys() == after.keys(), 'a refused start changes the directory', after.keys())

    shutil.copytree(run, folder / 'again')
    restarted = Job('--restart-input', new, run)
    summary = restarted.summary()
    require(restarted.number(r', at step (\d+)$') == step, 'the step is not kept', restarted.output)
    require("restored without 'input'" in restarted.errors, 'no word of it', restarted.errors)
    require(restarted.number(r'learnt (\d+) records') == step * batch_size + new_records,
            'not each new record was learnt as often as there are epochs', step, summary)
    require(restarted.number(r'^(\d+) steps') == step + -(-new_records // batch_size),
            'the steps are not those of the new input', step, summary)

    # The job has restored the weights of the checkpoint: the result depends only on them.
    require(Job('--restart-input', new, folder / 'again').summary() == summary,
            'the same restart has another result', summary)
    fresh = Job(new, folder / 'fresh').summary()
    require(fresh.split()[-1] != summary.split()[-1], 'the weights were not kept', fresh, summary)

    # The job now continues without the option.
    require(Job(new, run).summary() == summary, 'the restarted job does not continue', summary)
