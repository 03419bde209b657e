#!/usr/bin/env python3
"""Reports the lines and branches of the library that the tests have run.

    report.py ROOT BUILD PROGRAM... [--missing] [--lines PERCENT] [--branches PERCENT]

Merges the profiles in BUILD/profiles and prints the shares for each file of lib/ and include/, the
lowest first. Fails if the total is below either goal.

A branch is one outcome of a condition in the source: true or false. Branches that the compiler
adds are not counted, such as the exits of a coroutine and of calls that may throw. A template
counts once for all its instantiations. A failing LEAT_ASSERT is not counted, because it ends the
process and loses the profile.
"""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys

FOLDERS = ['lib', 'include']


def llvm(tool, *arguments):
    done = subprocess.run([f'llvm-{tool}-19', *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        print(f'coverage: llvm-{tool}-19 fails:\n{done.stderr}', file=sys.stderr)
        sys.exit(2)
    return done.stdout


def lines_of(segments):
    """Line -> whether it was run, for lines with code; counts as llvm-cov show does, except gaps.

    A segment starts where the count changes: [line, column, count, has_count, begins_region,
    is_gap].
    """
    by_line = collections.defaultdict(list)
    for segment in segments:
        by_line[segment[0]].append(segment)
    seen, wrapped = {}, None
    for line in range(segments[0][0], segments[-1][0] + 1) if segments else []:
        here = by_line.get(line, [])
        starts = [s for s in here if s[3] and s[4] and not s[5]]
        skipped = bool(here) and not here[0][3] and here[0][4]
        if not skipped and (starts or wrapped and wrapped[3]):
            counts = [s[2] for s in starts] + ([wrapped[2]] if wrapped and wrapped[3] else [])
            if wrapped and wrapped[5]:  # a gap has no code, so the next segment counts
                counts += [s[2] for s in here if s[3] and not s[5]]
            seen[line] = max(counts) > 0
        if here:
            wrapped = here[-1]
    return seen


def asserted(source):
    """Returns the lines of all LEAT_ASSERT statements."""
    inside = set()
    for match in re.finditer(r'LEAT_ASSERT\(.*?\);', source, re.S):
        first = source.count('\n', 0, match.start()) + 1
        inside |= set(range(first, first + match[0].count('\n') + 1))
    return inside


def branches_of(branches, source):
    """(line, column, outcome) -> whether it was taken. Constants are not conditions."""
    taken = collections.Counter()
    no_choice = asserted(source)
    lines = source.split('\n')
    for line, column, _, _, yes, no, *_ in branches:
        if line in no_choice or 'if constexpr' in lines[line - 1]:
            continue
        taken[line, column, True] += yes
        taken[line, column, False] += no
    return taken


def percent(part, whole):
    return 100 * part / whole if whole else 100.0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('root', type=pathlib.Path)
    parser.add_argument('build', type=pathlib.Path)
    parser.add_argument('programs', nargs='+')
    parser.add_argument('--missing', action='store_true', help='name what was not run')
    parser.add_argument('--lines', type=float, default=0)
    parser.add_argument('--branches', type=float, default=0)
    options = parser.parse_args()
    root = options.root.resolve()

    profile = options.build / 'all.profdata'
    # A process that a test kills may leave an incomplete profile. Only complete profiles count.
    raw = sorted((options.build / 'profiles').glob('*.profraw'))
    llvm('profdata', 'merge', '-sparse', '-failure-mode=all', *raw, '-o', profile)
    first, *others = options.programs
    exported = json.loads(llvm(
        'cov', 'export', first, *(f'-object={o}' for o in others), f'-instr-profile={profile}',
        '-skip-functions', '-skip-expansions', '-sources', *(root / f for f in FOLDERS)))

    rows, missing = [], []
    for file in exported['data'][0]['files']:
        name = str(pathlib.Path(file['filename']).resolve().relative_to(root))
        source = (root / name).read_text()
        lines = lines_of(file['segments'])
        branches = branches_of(file['branches'], source)
        rows.append((name, sum(lines.values()), len(lines),
                     sum(n > 0 for n in branches.values()), len(branches)))
        text = source.split('\n')
        missing += (f'{name}:{n}: {text[n - 1].strip()}' for n, run in lines.items() if not run)
        missing += (f'{name}:{n}:{column}: never {str(outcome).lower()}: {text[n - 1].strip()}'
                    for (n, column, outcome), count in sorted(branches.items())
                    if count == 0 and lines.get(n))

    rows.sort(key=lambda r: (percent(r[1], r[2]) + percent(r[3], r[4]), r[0]))
    print(f'{"lines":>18} {"branches":>18}  file')
    total = [sum(r[k] for r in rows) for k in range(1, 5)]
    for name, run, of, taken, ways in [*rows, ('all of it', *total)]:
        print(f'{percent(run, of):6.1f} %{run:5}/{of:<5}{percent(taken, ways):7.1f} %'
              f'{taken:5}/{ways:<5} {name}')
    if options.missing:
        print('\n'.join(missing))
    lines, branches = percent(*total[:2]), percent(*total[2:])
    for what, share, goal in (('lines', lines, options.lines),
                              ('branches', branches, options.branches)):
        if share < goal:
            print(f'coverage: {share:.1f} % of the {what} were run; {goal:g} % are the least; '
                  '--missing names them')
    return 1 if lines < options.lines or branches < options.branches else 0


if __name__ == '__main__':
    sys.exit(main())
