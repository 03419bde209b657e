#!/usr/bin/env python3
"""docs/errors.md lists each errc and each exception type; its tables of system codes are those of lib/base/error.cpp.
With --fix these two tables are written."""

import pathlib
import re
import sys

ENUMERATOR = re.compile(r'^  (\w+) = \d+,', re.M)
EXCEPTION = re.compile(r'^class (\w+) (?:final )?: public (?:failure|std::\w*(?:error|exception))\b', re.M)


def function_body(text, head):
    return text[text.index(head):].split('\n}\n', 1)[0]


def system_codes(source):
    """The table of `ec == errc::x`: codes of the kernel and of Asio."""
    body = function_body(source, 'errc to_errc(')
    meanings, group = {}, []
    for line in body.split('\n'):
        for foreign, name in re.findall(r'ec == (asio::error::\w+)\) return errc::(\w+)', line):
            meanings.setdefault(name, []).append(foreign)
        group += re.findall(r'case (E\w+):', line)
        if group and (found := re.search(r'return errc::(\w+)', line)):
            meanings.setdefault(found[1], []).extend(group)
            group = []
    yield '| condition | is also true for |\n|---|---|\n'
    for name, codes in meanings.items():
        codes.sort(key=lambda code: '::' in code)
        yield f'| `errc::{name}` | {", ".join(f"`{c}`" for c in codes)} |\n'


def standard_conditions(source):
    """The table of `ec == std::errc::x` for a code of leat."""
    yield '| code | equals |\n|---|---|\n'
    body = function_body(source, 'default_error_condition(')
    for name, condition in re.findall(r'case errc::(\w+): return (std::errc::\w+);', body):
        yield f'| `errc::{name}` | `{condition}` |\n'


def missing(root, page):
    rows = re.findall(r'^\| `(\w+)` \|', page, re.M)
    for name in ENUMERATOR.findall((root / 'include/leat/base/error.hpp').read_text()):
        if rows.count(name) != 1:
            yield f'docs/errors.md: {rows.count(name)} rows for errc::{name}'
    for header in sorted((root / 'include').rglob('*.hpp')):
        if header.parent.name != 'detail':
            for name in EXCEPTION.findall(header.read_text()):
                if not re.search(rf'^\| `(?:\w+::)?{name}` \|', page, re.M):
                    yield f'docs/errors.md: no row for the exception {name} of {header.relative_to(root)}'


def main():
    root, fix = pathlib.Path(sys.argv[1]), '--fix' in sys.argv[2:]
    source = (root / 'lib/base/error.cpp').read_text()
    path = root / 'docs' / 'errors.md'
    page = wanted = path.read_text()
    for name, table in (('system codes', system_codes), ('standard conditions', standard_conditions)):
        wanted = re.sub(rf'(<!-- {name} -->\n).*?(<!-- /{name} -->)',
                        lambda m: m[1] + ''.join(table(source)) + m[2], wanted, flags=re.S)
    found = list(missing(root, page))
    if wanted != page:
        if fix:
            path.write_text(wanted)
        else:
            found.append('docs/errors.md: its tables are not those of lib/base/error.cpp; --fix writes them')
    if found:
        print('\n'.join(found))
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
