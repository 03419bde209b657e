#!/usr/bin/env python3
"""Makes small changes to the library and checks that the tests detect them.

    mutate.py ROOT BUILD [COUNT] [--seed N] [--minutes N] [--anew] [--list]

The script copies the sources below SOURCES to BUILD and compiles every mutant in (see sites.py).
The environment variable LEAT_MUTANT selects one at run time. There is therefore one build, with
clang and the address sanitizer, followed by COUNT (default: 200) short runs. They run the test
cases of queue, coordination, async and base and the simulated scenarios in RUNS. A mutant is killed
if a run fails or hangs. The seed determines the selected mutants; a COUNT of `all` selects all.

All processes run at the lowest priority and can be interrupted. BUILD/results keeps the result of
each mutant as long as the tree is unchanged. --minutes N ends a run after that time, and another
run of this command continues it. --anew discards the results.

equivalent.txt lists mutants that no test can distinguish from the library, because only memory or
speed changes, each with the reason. They run too and are counted separately. It is an error of that
file if one of them is killed or no longer exists.

Fails if less than 90 % of the others are killed. Ends with 3 if mutants remain to be tried.
"""

import argparse
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import sites
import trials

SOURCES = [
    'include/leat/queue', 'lib/queue', 'include/leat/coordination', 'lib/coordination',
    # The parts of its waits: operations, select, limits, stops and the lock with an owner.
    'include/leat/base/internal/biased_mutex.hpp', 'include/leat/base/internal/parker.hpp',
    'include/leat/base/internal/reserve_doubling.hpp',
    'include/leat/async/operation', 'lib/async/operation',
    'include/leat/async/detail/select_state.hpp', 'include/leat/async/select.hpp',
    'include/leat/async/sleep.hpp', 'include/leat/async/wait_for_stop.hpp',
    'lib/base/internal/biased_mutex.cpp', 'lib/async/select.cpp', 'lib/async/sleep.cpp',
    'lib/async/wait_for_stop.cpp',
]
COPIED = ['include', 'lib', 'tests', 'tools', 'meson.build', 'meson_options.txt']
SEED = 1
GOAL = 0.9
TARGETS = ['tests/test_queue', 'tests/test_queue_matrix', 'tests/test_coordination', 'tests/test_async', 'tests/test_base', 'tests/simulate']
RUNS = [
    ['tests/test_queue', '--abort'],
    ['tests/test_queue_matrix', '--abort'],
    ['tests/test_coordination', '--abort'],
    ['tests/test_async', '--abort', 'select*,sleep*,wait*,with*,time*'],
    ['tests/test_base', '--abort', 'biased*,parker*'],
    ['tests/simulate', '--count', '200', 'queues'],
    ['tests/simulate', '--count', '200', 'coordination'],
    ['tests/simulate', '--count', '200', 'selecting'],
    ['tests/simulate', '--count', '200', 'budgets'],
]
LEFT = 3  # the status if mutants remain
SELECTION = '''#pragma once

#include <cstdlib>

namespace leat_mutation {
inline const int chosen = [] {
  const char* const number = std::getenv("LEAT_MUTANT");
  return number ? std::atoi(number) : 0;
}();
}  // namespace leat_mutation

#define LEAT_MUTANT(number) (::leat_mutation::chosen == (number))
'''
# The library throws and frees very often, so large histories of the sanitizers cost more than they
# find.
SANITIZERS = {'ASAN_OPTIONS': 'detect_stack_use_after_return=0:quarantine_size_mb=16',
              'UBSAN_OPTIONS': 'halt_on_error=1', 'MALLOC_PERTURB_': '165'}


def fail(sentence):
    print(f'mutate: {sentence}', file=sys.stderr)
    sys.exit(2)


def find_sites(root):
    """Returns all sites of each source, and all mutants, numbered from 1."""
    found, mutants = {}, []
    for source in SOURCES:
        path = root / source
        for path in [path] if path.is_file() else sorted(path.rglob('*.[hc]pp')):
            name = str(path.relative_to(root))
            found[name] = sites.Finder(name, path.read_text()).find()
            for site in found[name]:
                for mutant in site.mutants:
                    mutants.append(mutant)
                    mutant.number = len(mutants)
    return found, mutants


# ------------------------------------------------------------------------------------------- build

def copy_tree(root, tree):
    """Copies the sources of the build. Unchanged files keep their modification time."""
    for name in COPIED:
        for source in [root / name] if (root / name).is_file() else (root / name).rglob('*'):
            if source.is_file() and '__pycache__' not in source.parts:
                write(tree / source.relative_to(root), source.read_bytes())


def write(path, data):
    if not path.exists() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def configure(tree, build):
    if (build / 'build.ninja').exists():
        return
    compiler = 'clang++-19'
    if shutil.which('ccache'):
        compiler = 'ccache ' + compiler
    done = subprocess.run(
        ['meson', 'setup', build, tree, '--unity=on', '--unity-size=20', '-Dtests=enabled',
         '-Dtool=disabled', '-Dexamples=disabled',
         '-Dbenches=disabled', '-Dwarning_level=0', '--optimization=0', '-Dcpp_args=-w '
         '-ferror-limit=0 -Wno-error', '-Db_sanitize=address,undefined', '-Db_lundef=false'],
        env=dict(os.environ, CXX=compiler), capture_output=True, text=True)
    if done.returncode != 0:
        fail(f'cannot configure {build}:\n{done.stdout}{done.stderr}')


def build_all(root, build, found, mutants):
    """Builds with every mutant that compiles. Returns the numbers of these mutants."""
    tree = build / 'tree'
    copy_tree(root, tree)
    write(tree / 'include' / 'mutant.hpp', SELECTION.encode())
    known = build / 'do_not_compile'  # keys of an earlier build
    refused = set(known.read_text().split('\n')) if known.exists() else set()
    wanted = {m.number for m in mutants if m.key not in refused}
    for _ in range(8):
        line_of = {}
        for name, its in found.items():
            text, line_of[name] = sites.instrumented((root / name).read_text(), its, wanted)
            write(tree / name, text.encode())
        configure(tree, build / 'build')
        done = subprocess.run(['ninja', '-k', '0', '-C', build / 'build', *TARGETS],
                              capture_output=True, text=True)
        if done.returncode == 0:
            known.write_text('\n'.join(m.key for m in mutants if m.number not in wanted))
            return wanted
        bad = set()
        for place, line in re.findall(r'([\w./-]+\.[hc]pp):(\d+):\d+:', done.stdout):
            name = re.sub(r'.*/tree/', '', place)
            bad |= {line_of.get(name, {}).get(int(line))} & wanted
        known.write_text('\n'.join(m.key for m in mutants if m.number not in wanted - bad))
        if not bad:
            fail('the instrumented sources do not compile:\n' +
                 '\n'.join(re.findall('.*error.*', done.stdout)[:20]))
        print(f'mutate: {len(bad)} mutants do not compile')
        wanted -= bad
    return fail('too many mutants that do not compile')


# ---------------------------------------------------------------------------------------- what came

def read_equivalent(path):
    """Mutant key -> reason. A reason is a comment before its mutants."""
    reasons, reason, fresh = {}, '', True
    for line in path.read_text().splitlines():
        if line.startswith('#'):
            reason = line[1:].strip() if fresh else f'{reason} {line[1:].strip()}'
            fresh = False
        elif line.strip():
            reasons[line.strip()] = reason
            fresh = True
        else:
            fresh = True
    return reasons


def show(mutant):
    return f'{mutant.path}:{mutant.line}: {mutant.original} -> {mutant.mutated}'


class Verdict:
    """The summary of the results of the selected mutants."""

    def __init__(self, chosen, equivalent, done):
        self.killed, self.survived, self.equivalent, self.left, self.wrong = [], [], [], [], []
        for m in chosen:
            if m.number not in done:
                self.left.append(m)
            elif not done[m.number]:
                (self.equivalent if m.key in equivalent else self.survived).append(m)
            else:
                self.killed.append(m)
                if m.key in equivalent:
                    self.wrong.append(f'{m.key}: not equivalent, killed by {done[m.number]}')

    @property
    def share(self):
        told_apart = len(self.killed) + len(self.survived)
        return len(self.killed) / told_apart if told_apart else 1

    def status(self):
        if self.wrong or not self.left and self.share < GOAL:
            return 1
        return LEFT if self.left else 0

    def tell(self):
        if self.survived:
            print('\nsurvived; below each, as equivalent.txt writes it:')
            for m in sorted(self.survived, key=lambda m: (m.path, m.line)):
                print(f'  {show(m)}\n      {m.key}')
        for sentence in self.wrong:
            print(f'equivalent.txt: {sentence}')
        count = len(self.killed) + len(self.survived) + len(self.equivalent)
        print(f'\n{count} mutants: {len(self.killed)} killed, {len(self.survived)} survived, '
              f'{len(self.equivalent)} equivalent; {100 * self.share:.1f} % killed of those that are '
              f'not equivalent')
        if self.left:
            print(f'{len(self.left)} are left: the same command goes on with them')


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('root', type=pathlib.Path)
    parser.add_argument('build', type=pathlib.Path)
    parser.add_argument('count', nargs='?', default='200', help='a number, or all')
    parser.add_argument('--seed', type=int, default=SEED)
    parser.add_argument('--minutes', type=float, help='end after so long; the same command goes on')
    parser.add_argument('--anew', action='store_true', help='forget what is known of this tree')
    parser.add_argument('--list', action='store_true', help='print all mutants and end')
    parser.add_argument('--only', action='append', default=[],
                        help='mutants whose key contains this text; more than once: one of them')
    options = parser.parse_args()
    root, build = options.root.resolve(), options.build.resolve()

    found, mutants = find_sites(root)
    equivalent = read_equivalent(pathlib.Path(__file__).with_name('equivalent.txt'))
    stale = set(equivalent) - {m.key for m in mutants}
    if options.list:
        print('\n'.join(m.key for m in mutants))
        return 0

    os.nice(19)
    begin = time.monotonic()
    # A change of equivalent.txt affects the verdict, but not the results of runs.
    tree = trials.digest(root, COPIED, {'equivalent.txt'})
    compiled = build_all(root, build, found, mutants)
    record = trials.Record(build / 'results', tree, options.anew)
    only = options.only or ['']
    candidates = [m for m in mutants
                  if m.number in compiled and any(text in m.key for text in only)]
    count = len(candidates) if options.count == 'all' else min(int(options.count), len(candidates))
    chosen = random.Random(options.seed).sample(candidates, count)
    known = sum(m.number in record.done for m in chosen)
    print(f'mutate: {count} of {len(candidates)} mutants, seed {options.seed}; '
          f'built in {time.monotonic() - begin:.0f} s' +
          (f'; {known} are known from before' if known else ''), flush=True)

    runner = trials.Trials(build / 'build', RUNS,
                           dict(os.environ, **SANITIZERS, LEAT_IO='threads'))
    if known < count:
        failed = runner.measure()
        if failed:
            fail(f'the tests fail without a mutant: {failed}')
    by_number = {m.number: m for m in chosen}

    def told(number, killed_by):
        status = 'killed' if killed_by else 'survived'
        print(f'{status:10} {show(by_number[number])}' + (f'   [{killed_by}]' if killed_by else ''),
              flush=True)

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    seconds = None if options.minutes is None else 60 * options.minutes
    try:
        runner.try_all(list(by_number), record, told, os.cpu_count(), seconds)
    except KeyboardInterrupt:
        print('\nmutate: interrupted')
    verdict = Verdict(chosen, equivalent, record.done)
    verdict.wrong += sorted(f'{key}: there is no such mutant' for key in stale)
    verdict.tell()
    return verdict.status()


if __name__ == '__main__':
    sys.exit(main())
