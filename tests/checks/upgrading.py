#!/usr/bin/env python3
"""Checks that docs/upgrading.md lists the names that tools/upgrade_names.py rewrites, that each new header is public, and
that each new name is in a public header. With --fix it writes the tables."""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'tools'))
sys.dont_write_bytecode = True

from layers import ALLOWED  # noqa: E402
from upgrade_names import ALSO, HEADERS, LOOK, MEMBERS, NAMES, PATHS, QUALIFIED, TENSORFLOW  # noqa: E402


def header_table():
    folders = {}
    for line in HEADERS.strip().split('\n'):
        new, old, *names = line.split()
        folders.setdefault((new, old), []).extend(names)
    for (new, old), names in folders.items():
        texts = [f'{n.partition(">")[2]} (`{n.partition(">")[0]}`)' if '>' in n else n for n in names]
        yield f'| `leat/{new}/` | {", ".join(texts)} | `leat/{old}/` |\n'


def rows(layer):
    for old, new, *_ in NAMES.get(layer, []):
        yield f'`{old}`', f'`{new}`'
    for _, _, *columns in QUALIFIED:
        if columns and columns[0] == layer:
            yield columns[1], columns[2]
    for of, type_name, _, members in MEMBERS:
        if of == layer:
            for old, new in members.items():
                yield f'`{type_name}::{old}`', f'`{new}`'
    for of, _, old, new in LOOK:
        if of == layer:
            yield old, new


def name_tables():
    for layer in ALLOWED:
        yield f'## Names of {layer}\n\n| old | new |\n|---|---|\n'
        yield from (f'| {old} | {new} |\n' for old, new in rows(layer))
        yield '\n'


def data_problems(root):
    include = root / 'include'
    for header in [*PATHS.values(), *(h for headers in ALSO.values() for h in headers), *(f'leat/{h}.hpp' for h in TENSORFLOW)]:
        if not (include / header).is_file():
            yield f'{header}: not a public header'
    public = '\n'.join(h.read_text() for h in sorted(include.rglob('*.hpp')) if h.parent.name != 'detail')
    public = re.sub(r'//[^\n]*|^#[^\n]*', '', public, flags=re.M)
    words = set(re.findall(r'\w+', public))
    new_names = [new for layer in NAMES.values() for _, new, *_ in layer]
    new_names += [new for _, _, _, members in MEMBERS for new in members.values()]
    new_names += [row[4].strip('`') for row in QUALIFIED if len(row) > 2]
    for name in new_names:
        if missing := [w for w in re.findall(r'\w+', name) if w not in words and w != 'sim']:
            yield f'{name}: {missing[0]}: not in a public header'


def main():
    root, fix = pathlib.Path(sys.argv[1]), '--fix' in sys.argv[2:]
    found = list(data_problems(root))
    page = root / 'docs' / 'upgrading.md'
    text = page.read_text()
    wanted = text
    for name, table in (('headers', header_table), ('names', name_tables)):
        wanted = re.sub(rf'(<!-- {name} -->\n).*?(<!-- /{name} -->)', lambda m: m[1] + ''.join(table()) + m[2], wanted, flags=re.S)
    if wanted != text:
        if fix:
            page.write_text(wanted)
        else:
            found.append('docs/upgrading.md: tables differ from tools/upgrade_names.py: run ./dev lint --fix')
    print('\n'.join(found))
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
