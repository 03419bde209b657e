"""The codes of the system that equal codes of leat, from lib/base/error.cpp, for docs/errors.md. The page lists each errc and
each exception type.
"""

import re

from public_headers import public_headers

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


def problems(root):
    page = (root / 'docs' / 'errors.md').read_text()
    rows = re.findall(r'^\| `(\w+)` \|', page, re.M)
    for name in ENUMERATOR.findall((root / 'include/leat/base/error.hpp').read_text()):
        if rows.count(name) != 1:
            yield f'docs/errors.md: {rows.count(name)} rows for errc::{name}'
    for header in public_headers(root):
        for name in EXCEPTION.findall(header.read_text()):
            if not re.search(rf'^\| `(?:\w+::)?{name}` \|', page, re.M):
                yield f'docs/errors.md: no row for the exception {name} of {header.relative_to(root)}'


def tables(root):
    source = (root / 'lib/base/error.cpp').read_text()
    return {'system': ''.join(system_codes(source)), 'standard': ''.join(standard_conditions(source))}
