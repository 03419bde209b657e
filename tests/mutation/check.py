#!/usr/bin/env python3
"""Tests that mutants run in portions, and that a hang is distinguished from a slow run. The mutants
are those of a script.

Number 1 fails, 2 survives, 3 computes indefinitely, 4 waits indefinitely in a child, and the others
survive.
"""

import contextlib
import io
import os
import pathlib
import sys
import tempfile

import mutate
import sites
import trials

SCRIPT = '''#!/bin/sh
echo "$LEAT_MUTANT" >>tried
case $LEAT_MUTANT in
  1) echo "leat: a precondition"; exit 6;;
  3) while :; do :; done;;
  4) sleep 100000; echo unreachable;;
esac
'''
bad = 0


def check(what, wanted, found):
    global bad
    if wanted != found:
        print(f'{what}: {found}, not {wanted}')
        bad += 1


def judged(done, equivalent=()):
    """Returns the report on four mutants, and the status."""
    mutants = [sites.Mutant('lib/x.cpp', 10 * n, 'f', f'a{n}', f'b{n}', n) for n in (1, 2, 3, 4)]
    verdict = mutate.Verdict(mutants, {mutants[n - 1].key for n in equivalent}, done)
    words = io.StringIO()
    with contextlib.redirect_stdout(words):
        verdict.tell()
    return words.getvalue(), verdict.status()


def check_verdict():
    words, status = judged({1: 'x', 2: 'x', 3: '', 4: ''}, equivalent=[4])
    check('two of three', 1, status)
    check('the survivor, its line and its key', True,
          'lib/x.cpp:30: a3 -> b3\n      lib/x.cpp f: a3 -> b3\n' in words)
    check('and no other', 1, words.count('      lib/x.cpp'))
    check('in numbers', True, '4 mutants: 2 killed, 1 survived, 1 equivalent; 66.7 %' in words)
    check('three of three', 0, judged({1: 'x', 2: 'x', 3: 'x', 4: ''}, equivalent=[4])[1])
    check('one is not equivalent', 1, judged({1: 'x', 2: 'x', 3: 'x', 4: 'x'}, equivalent=[4])[1])
    words, status = judged({1: 'x', 2: ''})
    check('some are left', mutate.LEFT, status)
    check('and it says so', True, '2 are left' in words)


def check_command(folder):
    """Runs the complete command except for the build: five mutants of the library, which all survive."""
    build = folder / 'mutation'
    (build / 'build').mkdir(parents=True)
    script = build / 'build' / 'program'
    script.write_text('#!/bin/sh\necho "$LEAT_MUTANT" >>tried\n')
    script.chmod(0o700)
    mutate.RUNS = [['program']]
    mutate.os.nice = lambda _: 0  # runs at normal priority on a busy machine
    mutate.build_all = lambda root, build, found, mutants: {m.number for m in mutants}
    root = pathlib.Path(__file__).resolve().parents[2]

    def run(*arguments):
        tried = build / 'build' / 'tried'
        tried.unlink(missing_ok=True)
        sys.argv = ['mutate', str(root), str(build), '5', *arguments]
        words = io.StringIO()
        with contextlib.redirect_stdout(words):
            status = mutate.main()
        numbers = tried.read_text().split() if tried.exists() else []
        return status, len([n for n in numbers if n != '0']), words.getvalue()

    status, tried, words = run('--minutes', '0')
    check('no time', (mutate.LEFT, 0, True), (status, tried, '5 are left' in words))
    status, tried, words = run()
    check('the rest', (1, 5, True), (status, tried, '0.0 % killed' in words))
    status, tried, words = run()
    check('again', (1, 0, True), (status, tried, '5 are known from before' in words))
    status, tried, words = run('--anew')
    check('anew', (1, 5), (status, tried))


def main():
    check_verdict()
    with tempfile.TemporaryDirectory() as temporary:
        check_command(pathlib.Path(temporary))
    trials.IDLE = 2
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        script = folder / 'program'
        script.write_text(SCRIPT)
        script.chmod(0o700)
        tried = folder / 'tried'

        def numbers_tried():
            numbers = [int(line) for line in tried.read_text().split()] if tried.exists() else []
            tried.write_text('')
            return sorted(numbers)

        runner = trials.Trials(folder, [['program']], dict(os.environ))
        check('without a mutant', '', runner.measure())
        check('limits', True, len(runner.limits) == 1 and runner.limits[0] >= 10)
        runner.limits = [1]
        numbers_tried()

        results = folder / 'results'
        record = trials.Record(results, 'this tree')
        told = []
        runner.try_all([1, 2, 3], record, lambda *result: told.append(result), 2)
        wanted = {1: 'program: leat: a precondition', 2: '', 3: 'program, a hang'}
        check('three of them', wanted, record.done)
        check('told', sorted(wanted.items()), sorted(told))
        check('tried', [1, 2, 3], numbers_tried())

        with results.open('a') as out:
            out.write('[5, "cut o')  # killed while it wrote
        record = trials.Record(results, 'this tree')
        check('kept', wanted, record.done)
        runner.try_all([1, 2, 3, 4, 5], record, lambda *result: None, 2, seconds=0)
        check('in no time', [], numbers_tried())
        runner.try_all([1, 2, 3, 4, 5], record, lambda *result: None, 2)
        check('gone on with', [4, 5], numbers_tried())
        check('all of them', {**wanted, 4: 'program, a hang', 5: ''}, record.done)

        record = trials.Record(results, 'this tree')

        def interrupt(*_):
            raise KeyboardInterrupt

        try:
            runner.try_all([6, 7, 8], record, interrupt, 1)
        except KeyboardInterrupt:
            pass
        check('interrupted', [6], numbers_tried())
        check('and kept', True, trials.Record(results, 'this tree').done.get(6) == '')

        def killed(path, text):
            with path.open('w') as out:
                out.write(text[:3])
            raise KeyboardInterrupt

        before, write_text = results.read_text(), pathlib.Path.write_text
        pathlib.Path.write_text = killed
        try:
            trials.Record(results, 'this tree')
        except KeyboardInterrupt:
            pass
        pathlib.Path.write_text = write_text
        check('killed before the first one', before, results.read_text())
        check('of another tree', {}, trials.Record(results, 'another tree').done)
        check('forgotten', {}, trials.Record(results, 'another tree', anew=True).done)

        tree = folder / 'tree'
        (tree / 'lib').mkdir(parents=True)
        (tree / 'lib' / 'a').write_text('1')
        (tree / 'lib' / 'b').write_text('1')
        before = trials.digest(tree, ['lib'], {'b'})
        (tree / 'lib' / 'b').write_text('2')
        check('what makes no difference', before, trials.digest(tree, ['lib'], {'b'}))
        (tree / 'lib' / 'a').write_text('2')
        check('another tree', False, before == trials.digest(tree, ['lib'], {'b'}))
    return 1 if bad else 0


sys.exit(main())
