#!/usr/bin/env python3
"""The tables of README.md and docs that are made from headers, sources and recorded results.

    <!-- table: KIND NAME -->
    <!-- /table -->

tables/KIND.py has tables(), which returns the text of each table of a project by its name, and each must be in a page. It may
also have problems(), which checks what a page lists by hand, and rewrite(), which changes such a list. With --fix the pages are
written.
"""

import importlib
import pathlib
import re
import sys

KINDS = ['headers', 'options', 'counters', 'codes', 'build', 'results']
TABLE = re.compile(r'(<!-- table: (\w+) (\S+) -->\n)(.*?)(<!-- /table -->)', re.S)

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / 'tables'))


def main():
    root, fix = pathlib.Path(sys.argv[1]), '--fix' in sys.argv[2:]
    makers = {kind: importlib.import_module(kind) for kind in KINDS}
    made = {(kind, name): text for kind, maker in makers.items() for name, text in maker.tables(root).items()}
    pages = [root / 'README.md', *sorted((root / 'docs').rglob('*.md'))]
    found, shown = [], set()
    for page in pages:
        text = page.read_text()
        place = page.relative_to(root)
        for _, kind, name, _, _ in TABLE.findall(text):
            if (kind, name) not in made:
                found.append(f'{place}: there is no table {kind} {name}')
            shown.add((kind, name))
        wanted = TABLE.sub(lambda m: m[1] + made.get((m[2], m[3]), m[4]) + m[5], text)
        for maker in makers.values():
            if hasattr(maker, 'rewrite'):
                wanted = maker.rewrite(root, wanted)
        if wanted != text and fix:
            page.write_text(wanted)
        elif wanted != text:
            found.append(f'{place}: a table is out of date: run ./dev lint --fix')
    found += [f'the table {kind} {name} is in no page' for kind, name in sorted(made.keys() - shown)]
    for maker in makers.values():
        if hasattr(maker, 'problems'):
            found += maker.problems(root)
    if found:
        print('\n'.join(found))
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
