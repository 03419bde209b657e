#!/usr/bin/env python3
"""Checks docs/architecture.md: its tables list each layer with the layers that it may include, and each folder; each
function that it names is in the linked file."""

import pathlib
import re
import sys

from layers import ALLOWED, FOLDERS, TOOL_FOLDERS

ROW = re.compile(r'^\| (?:\*\*([\w/]+)\*\*|`([\w/]+)`) \|[^|]+\|(?: ([^|]+) \|)?$', re.M)
FUNCTION = re.compile(r'\[`((?:\w+::)*)(\w+)`\]\(\.\./([\w./]+\.[ch]pp)\)')


def table_problems(text):
    layers = {row[1]: row[3] for row in ROW.finditer(text) if row[1]}
    for layer, allowed in ALLOWED.items():
        wanted = ', '.join(sorted(allowed)) or 'nothing of leat'
        if layers.get(layer) != wanted:
            yield f'layer {layer}: the table lists {layers.get(layer)!r}, but layers.py allows {wanted!r}'
    yield from (f'layer {layer}: not in ALLOWED of layers.py' for layer in layers if layer not in ALLOWED)
    folders = [row[2] for row in ROW.finditer(text) if row[2]]
    wanted = [f'{layer}/{folder}' for layer in ALLOWED for folder in FOLDERS.get(layer, []) if folder != '.']
    wanted += [f'tools/leat/{folder}' for folder in TOOL_FOLDERS if folder != '.']
    if folders != wanted:
        yield f'the folders differ from layers.py: write, in this order: {", ".join(wanted)}'


def has_function(code, owner, name):
    """Returns whether the code declares a function `name`, as a member of `owner` unless `owner` is empty."""
    type_before = r'^(?!\s*(?:return|co_return|co_await|throw|else|new)\b)[\w \t:<>,&*\[\].="]*[\w>&*\]]\s*[\s&*]'
    qualified = rf'{owner}(?:<\w+>)?::' if owner else ''
    if re.search(rf'{type_before}(?:\w+::)*{qualified}{name}\(', code, re.M):
        return True
    in_class = owner and re.search(rf'\b(class|struct)\s+(\[\[\w+\]\]\s+)?{owner}\b[^;]*{{', code)
    return bool(in_class and re.search(rf'{type_before}{name}\(', code, re.M))


def function_problems(root, text):
    for match in FUNCTION.finditer(text):
        owner, name, file = match[1].split('::')[-2] if match[1] else '', match[2], match[3]
        line = text.count('\n', 0, match.start()) + 1
        if not (root / file).is_file():
            yield f'{line}: {file}: file not found'
        elif not has_function((root / file).read_text(), owner, name):
            yield f'{line}: {match[1]}{name}(): not declared in {file}'


def main():
    root = pathlib.Path(sys.argv[1])
    text = (root / 'docs' / 'architecture.md').read_text()
    found = [*table_problems(text), *function_problems(root, text)]
    print('\n'.join(f'docs/architecture.md: {problem}' for problem in found))
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
