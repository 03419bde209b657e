#!/usr/bin/env python3
"""Rules that a formatter does not know: lengths, blanks, loose words, expensive includes."""

import pathlib
import re
import sys

FOLDERS = ['include', 'lib', 'tests', 'benches', 'examples', 'tools', 'docs', '.ci']
SUFFIXES = {'.hpp', '.cpp', '.py', '.build', '.md', '.in', '.sh', '.txt', ''}
CODE = {'.hpp', '.cpp'}
MAX_COLUMNS = 100
MAX_LINES = {'.hpp': 400, '.cpp': 500}
LOOSE = re.compile(r'\b(TODO(?!\((perf|later)\):)|FIXME|XXX|HACK)\b')  # style: words
OF_CASES = re.compile(r'tests/(\w+/)+\w+_test\.cpp')
EXPENSIVE = re.compile(r'\s*#\s*include\s*[<"](asio\.hpp|liburing\.h)[>"]')


def problems(root, path, name):
    lines = path.read_text().split('\n')
    if lines[-1] != '':
        yield len(lines), 'no newline at the end of the file'
    limit = MAX_LINES.get(path.suffix)
    if limit and len(lines) - 1 > limit:
        yield len(lines), f'longer than {limit} lines'
    if path.suffix == '.hpp' and '#pragma once' not in lines[:10]:
        yield 1, '#pragma once is missing'
    if OF_CASES.fullmatch(name):
        # Several files of cases are compiled as one, and all call their helpers what they like.
        if f'namespace {path.stem} {{' not in lines:
            yield 1, f'its cases have to stand in namespace {path.stem}'
        if 'namespace {' in lines:
            yield lines.index('namespace {') + 1, 'an unnamed namespace, shared with other files'
    if name.startswith('lib/') and path.suffix == '.cpp':
        yield from header_not_first(root, name, lines)
    for number, line in enumerate(lines, 1):
        if '\t' in line:
            yield number, 'a tab'
        if line != line.rstrip():
            yield number, 'blanks at the end of the line'
        if path.suffix in CODE and len(line) > MAX_COLUMNS:
            yield number, f'{len(line)} columns, {MAX_COLUMNS} are the most'
        if (word := LOOSE.search(line)) and '# style: words' not in line:
            yield number, f'{word[0]}: write TODO(perf): or TODO(later):'  # style: words
        if name.startswith('include/') and (match := EXPENSIVE.match(line)):
            yield number, f'{match[1]} must not be in a public header'


def header_not_first(root, name, lines):
    """What includes the header of its own name first shows that this needs no other before it."""
    header = 'leat/' + name.removeprefix('lib/').removesuffix('.cpp') + '.hpp'
    if not (root / 'include' / header).is_file():
        return
    for number, line in enumerate(lines, 1):
        if line.startswith('#include '):
            if line != f'#include "{header}"':
                yield number, f'{header} has to be included first'
            return


def main():
    root = pathlib.Path(sys.argv[1])
    files = [f for f in root.iterdir() if f.is_file() and f.suffix in SUFFIXES]
    for folder in FOLDERS:
        files += (f for f in (root / folder).rglob('*') if f.is_file() and f.suffix in SUFFIXES
                  and 'corpus' not in f.parts and '__pycache__' not in f.parts)
    count = 0
    for path in sorted(files):
        name = str(path.relative_to(root))
        for number, what in problems(root, path, name):
            print(f'{name}:{number}: {what}')
            count += 1
    return 1 if count else 0


if __name__ == '__main__':
    sys.exit(main())
