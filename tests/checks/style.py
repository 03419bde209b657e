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
EXPENSIVE = re.compile(r'\s*#\s*include\s*[<"](asio\.hpp|liburing\.h)[>"]')


def problems(path, name):
    lines = path.read_text().split('\n')
    if lines[-1] != '':
        yield len(lines), 'no newline at the end of the file'
    limit = MAX_LINES.get(path.suffix)
    if limit and len(lines) - 1 > limit:
        yield len(lines), f'longer than {limit} lines'
    if path.suffix == '.hpp' and '#pragma once' not in lines[:10]:
        yield 1, '#pragma once is missing'
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


def main():
    root = pathlib.Path(sys.argv[1])
    files = [f for f in root.iterdir() if f.is_file() and f.suffix in SUFFIXES]
    for folder in FOLDERS:
        files += (f for f in (root / folder).rglob('*') if f.is_file() and f.suffix in SUFFIXES
                  and 'corpus' not in f.parts and '__pycache__' not in f.parts)
    count = 0
    for path in sorted(files):
        name = str(path.relative_to(root))
        for number, what in problems(path, name):
            print(f'{name}:{number}: {what}')
            count += 1
    return 1 if count else 0


if __name__ == '__main__':
    sys.exit(main())
