"""Runs the tests with each mutant in turn, and keeps the results, so an interrupted run can continue.

A hang is detected by the processor time of a run, or because no thread of it has anything to do.
Neither depends on the load of the machine.
"""

import concurrent.futures
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import tempfile
import threading
import time

IDLE = 60  # seconds without activity that mean a hang


def digest(root, names, but):
    """Returns the digest of all files below these names, except those in `but`."""
    hashed = hashlib.sha256()
    for name in names:
        for path in [root / name] if (root / name).is_file() else sorted((root / name).rglob('*')):
            if path.is_file() and '__pycache__' not in path.parts and path.name not in but:
                hashed.update(f'{path.relative_to(root)}\0{path.stat().st_size}\0'.encode())
                hashed.update(path.read_bytes())
    return hashed.hexdigest()


class Record:
    """The results of the mutants of one tree in a file, with one line for each finished mutant.
    Results of another tree are discarded."""

    def __init__(self, path, tree, anew=False):
        self.path, self.done = path, {}
        lines = path.read_text().splitlines() if path.exists() and not anew else []
        kept = lines[:1] == [tree]
        for line in lines[1:] if kept else []:
            try:
                number, killed_by = json.loads(line)
            except (TypeError, ValueError):
                continue  # truncated by a kill
            self.done[number] = killed_by
        whole = path.with_name(path.name + '.new')  # a kill during the write loses nothing
        whole.write_text(''.join(f'{line}\n' for line in [tree, *map(json.dumps, self.done.items())]))
        os.replace(whole, path)

    def add(self, number, killed_by):
        self.done[number] = killed_by
        with self.path.open('a') as out:
            out.write(json.dumps([number, killed_by]) + '\n')


# -------------------------------------------------------------------------------- one run of a test

def family(pid):
    """Returns the states of all threads of a process and its children, and the sum of their ticks."""
    states, ticks = [], 0
    try:
        for task in pathlib.Path(f'/proc/{pid}/task').iterdir():
            fields = (task / 'stat').read_text().rpartition(')')[2].split()
            states.append(fields[0])
            ticks += int(fields[11]) + int(fields[12])
            for child in (task / 'children').read_text().split():
                more_states, more_ticks = family(child)
                states += more_states
                ticks += more_ticks
    except OSError:
        pass  # the process has ended
    return states, ticks


def run_command(command, folder, environment, limit=None):
    """Returns the status (None for a hang) and the output. `limit`: seconds of processor time."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=output, stderr=output, start_new_session=True)
        try:
            status = wait_for(process, limit)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        output.seek(0)
        return status, output.read().decode(errors='replace')


def wait_for(process, limit):
    if limit:
        try:
            resource.prlimit(process.pid, resource.RLIMIT_CPU, (limit, limit + 5))
        except ProcessLookupError:
            pass
    busy, before = time.monotonic(), -1
    while True:
        try:
            status = process.wait(0.05 if before < 0 else 1)
            return None if status in (-signal.SIGXCPU, -signal.SIGKILL) else status
        except subprocess.TimeoutExpired:
            states, ticks = family(process.pid)
            if ticks != before or {'R', 'D'} & set(states):
                busy, before = time.monotonic(), ticks
            if time.monotonic() - busy > IDLE:
                return None


def reason(output, status):
    said = re.search(r'^.*(?:AddressSanitizer|LeakSanitizer|runtime error|leat: ).*$', output, re.M)
    case = re.search(r'^-{70,}\n(.+)\n', output, re.M)
    return (case[1] if case else said[0] if said else f'status {status}')[:90]


# ---------------------------------------------------------------------------------------- all of them

@dataclasses.dataclass
class Trials:
    """`runs`: commands, in `folder`; `environment`: variables in addition to LEAT_MUTANT."""
    folder: pathlib.Path
    runs: list
    environment: dict
    limits: list = dataclasses.field(default_factory=list)

    def killed_by(self, number):
        """Returns the run that killed the mutant and its reason, or an empty string."""
        environment = dict(self.environment, LEAT_MUTANT=str(number))
        for i, command in enumerate(self.runs):
            name = ' '.join(c for c in command[:1] + command[3:]).replace('tests/', '')
            status, output = run_command(['./' + command[0], *command[1:]], self.folder, environment,
                                         self.limits[i] if self.limits else None)
            if status is None:
                return f'{name}, a hang'
            if status != 0:
                return f'{name}: {reason(output, status)}'
        return ''

    def measure(self):
        """Runs without a mutant and returns the failed run, or an empty string. Sets each limit to about
        five times the measured time."""
        limits, runs = [], self.runs
        for command in runs:
            before = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
            self.runs = [command]
            failed = self.killed_by(0)
            self.runs = runs
            if failed:
                return failed
            limits.append(int(5 * (sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - before) + 10))
        self.limits = limits
        return ''

    def try_all(self, numbers, record, told, jobs, seconds=None):
        """Tries the mutants that the record lacks. Starts none after `seconds`, and waits for those that
        run."""
        end = time.monotonic() + seconds if seconds is not None else None
        stopped, lock = threading.Event(), threading.Lock()

        def try_one(number):
            if stopped.is_set() or end is not None and time.monotonic() >= end:
                return
            try:
                killed_by = self.killed_by(number)
                with lock:
                    record.add(number, killed_by)
                    told(number, killed_by)
            except BaseException:
                stopped.set()
                raise

        todo = [n for n in numbers if n not in record.done]
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            try:
                for _ in pool.map(try_one, todo):
                    pass
            except BaseException:
                stopped.set()  # running trials finish and are recorded
                raise
