#!/usr/bin/env python3
"""Kills ranks that learn in step with SIGKILL at random times, one or all of them, and restarts all
until they are done. In the middle, another number of ranks continues.

    kill_ranks.py LEARN_IN_STEP [KILLS [SEED]]

After any number of kills, all ranks have learnt every line once in each epoch, as a single
uninterrupted rank does.
"""

import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

program = sys.argv[1]
kills_wanted = int(sys.argv[2]) if len(sys.argv) > 2 else 20
seed = int(sys.argv[3]) if len(sys.argv) > 3 else time.time_ns()
chance = random.Random(seed)
patience = 3600  # seconds, for an uninterrupted run


def fail(what):
    sys.exit(f'kill_ranks: {what}; again: the same with {kills_wanted} {seed}')


def make_lines(folder):
    folder.mkdir()
    for i in range(8):
        lines = [f'{i} line {n}\n' for n in range(chance.randrange(20, 200))]
        (folder / str(i)).write_text(''.join(lines))


class run:
    """All ranks, from a start to their end or a kill."""

    def __init__(self, lines, logdir, ranks, before=0):
        self.begun_at = set()
        self.steps = 0
        self.processes = [
            subprocess.Popen([program, lines, logdir, str(rank), str(ranks), str(before)],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
            for rank in range(ranks)]

    def kill(self, victims):
        for process in victims:
            process.kill()

    def relay(self, most):
        """Relays steps to the end and returns the learnt lines, or None if a rank has died before.
        Kills all ranks after `most` steps."""
        learnt = set()
        for process in self.processes:
            line = process.stdout.readline()
            if not line.startswith('begins at step '):
                return None
            self.begun_at.add(int(line.split()[-1]))
        if len(self.begun_at) > 1:
            fail(f'ranks begin at the steps {self.begun_at}')
        while True:
            told = [process.stdout.readline().strip() for process in self.processes]
            if all(line.startswith('learnt') for line in told):
                learnt.update(told)
                break
            if '' in told or any(line.startswith('learnt') for line in told):
                return None
            self.steps += 1
            if self.steps > most:
                self.kill(self.processes)
                return None
            try:
                for process in self.processes:
                    process.stdin.write(''.join(line + ';' for line in told) + '\n')
                    process.stdin.flush()
            except BrokenPipeError:
                return None
        if len(learnt) > 1:
            fail(f'ranks have learnt different things: {learnt}')
        return learnt.pop()

    def go(self, kill_after=None, most=10**9):
        victims = self.processes
        if chance.random() < 0.5:
            victims = [chance.choice(self.processes)]
        timer = threading.Timer(kill_after or patience,
                                lambda: self.kill(victims if kill_after else self.processes))
        timer.daemon = True
        timer.start()
        try:
            learnt = self.relay(most)
            timer.cancel()
            # The remaining ranks learn that the others have ended, even a rank that has not started
            # yet.
            killed = 0
            for process in self.processes:
                _, errors = process.communicate()
                killed += process.returncode == -9
                if process.returncode not in (0, 3, -9):
                    fail(f'a rank ended with {process.returncode}: {errors}')
        finally:
            timer.cancel()
            self.kill(self.processes)
        if learnt is None and killed == 0:
            fail('a rank has ended by itself')
        return learnt


kills = jobs = resumed = 0
while kills < kills_wanted:
    jobs += 1
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        make_lines(folder / 'lines')
        begin = time.monotonic()
        expected = run(folder / 'lines', folder / 'whole', 1).go()
        took = time.monotonic() - begin
        if expected is None:
            fail('a single rank does not come to its end')
        learnt = None
        before = 0
        worlds = chance.choice([[2], [2, 3], [3, 1, 2]])
        for number, ranks in enumerate(worlds):
            is_last = number + 1 == len(worlds)
            # Another number of ranks continues after these ranks have saved, that is, after the
            # third step.
            for attempt in range(6):
                started = run(folder / 'lines', folder / 'run', ranks, before)
                learnt = started.go(kill_after=chance.uniform(0.001, 2 * took) if attempt < 5
                                    else None, most=10**9 if is_last else chance.randrange(4, 40))
                kills += learnt is None
                resumed += started.begun_at not in (set(), {0})
                if learnt is not None:
                    break
                if not is_last and started.steps > 3 and chance.random() < 0.5:
                    break
            if learnt is not None:
                break
            before = ranks
        if learnt is None:
            fail('not at its end')
        if learnt != expected:
            fail(f'"{learnt}" in the place of "{expected}", with {worlds} ranks')
print(f'{kills} kills in {jobs} jobs, {resumed} starts from a checkpoint; seed {seed}: '
      'nothing lost, nothing twice')
