#!/usr/bin/env python3
"""Checks rules that the formatter does not know: lengths, whitespace, loose words, expensive includes."""

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
        yield len(lines), 'no newline at end of file'
    limit = MAX_LINES.get(path.suffix)
    if limit and len(lines) - 1 > limit:
        yield len(lines), f'{len(lines) - 1} lines, but at most {limit} are allowed'
    if path.suffix == '.hpp' and '#pragma once' not in lines[:10]:
        yield 1, '#pragma once is missing'
    if OF_CASES.fullmatch(name):
        # Several test files are compiled as one, and their helpers may have equal names.
        if f'namespace {path.stem} {{' not in lines:
            yield 1, f'test cases must be in namespace {path.stem}'
        if 'namespace {' in lines:
            yield lines.index('namespace {') + 1, f'unnamed namespace is shared with other test files: use namespace {path.stem}'
    if name.startswith('lib/') and path.suffix == '.cpp':
        yield from header_not_first(root, name, lines)
    for number, line in enumerate(lines, 1):
        if '\t' in line:
            yield number, 'tab: use spaces'
        if line != line.rstrip():
            yield number, 'trailing whitespace'
        if path.suffix in CODE and len(line) > MAX_COLUMNS:
            yield number, f'{len(line)} columns, but at most {MAX_COLUMNS} are allowed'
        if (word := LOOSE.search(line)) and '# style: words' not in line:
            yield number, f'{word[0]}: write TODO(perf): or TODO(later):'  # style: words
        if name.startswith('include/') and (match := EXPENSIVE.match(line)):
            yield number, f'{match[1]} must not be in a public header'


def header_not_first(root, name, lines):
    """Checks that a source includes its own header first, which proves that the header is self-contained."""
    header = 'leat/' + name.removeprefix('lib/').removesuffix('.cpp') + '.hpp'
    if not (root / 'include' / header).is_file():
        return
    for number, line in enumerate(lines, 1):
        if line.startswith('#include '):
            if line != f'#include "{header}"':
                yield number, f'include {header} first'
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
