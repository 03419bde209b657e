#!/usr/bin/env python3
"""docs/metrics.md lists each metric of prometheus_text() with its type, each tag of stage_rates, and the counters of the
public headers. With --fix the tables of counters are written.

A table is between `<!-- counters: HEADER#STRUCT -->` and `<!-- /counters -->`; HEADER is relative to include/leat.
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.dont_write_bytecode = True

from option_tables import STRUCT, members  # noqa: E402

METRIC = re.compile(r'\{"(leat_\w+)", "(gauge|counter)"')
BLOCK = re.compile(r'(<!-- counters: (\S+)#(\w+) -->\n).*?(<!-- /counters -->)', re.S)


def read_counters(include):
    for header in sorted(include.rglob('*.hpp')):
        if 'detail' not in header.parts:
            for _, name, body in STRUCT.findall(header.read_text()):
                if name.endswith('_statistics'):
                    yield (header.relative_to(include).as_posix(), name), body


def table(body):
    yield '| member | meaning |\n|---|---|\n'
    for member, _, _, meaning in members(body):
        yield f'| `{member}` | {meaning} |\n'


def problems(root, page):
    rows = dict(re.findall(r'^\| `(leat_\w+)` \| (\w+) \|', page, re.M))
    metrics = dict(METRIC.findall((root / 'lib/pipeline/metrics/prometheus_text.cpp').read_text()))
    for name in sorted(rows.keys() | metrics.keys()):
        if rows.get(name) != metrics.get(name):
            yield f'docs/metrics.md: {name} is {rows.get(name)}, in the code {metrics.get(name)}'
    for tag in re.findall(r'\badd\("(\w+)"', (root / 'lib/train/summary/stage_rates.cpp').read_text()):
        if f'`STAGE/{tag}`' not in page:
            yield f'docs/metrics.md: the tag STAGE/{tag} is missing'


def main():
    root, fix = pathlib.Path(sys.argv[1]), '--fix' in sys.argv[2:]
    counters = dict(read_counters(root / 'include' / 'leat'))
    path = root / 'docs' / 'metrics.md'
    page = path.read_text()
    found = list(problems(root, page))
    listed = {(header, name) for _, header, name, _ in BLOCK.findall(page)}
    for header, name in sorted(listed ^ counters.keys()):
        found.append(f'docs/metrics.md: {header}#{name} is only in the page, or only in the headers')
    wanted = BLOCK.sub(lambda m: m[1] + ''.join(table(counters[m[2], m[3]])) + m[4] if (m[2], m[3]) in counters else m[0],
                       page)
    if wanted != page:
        if fix:
            path.write_text(wanted)
        else:
            found.append('docs/metrics.md: the counters are not those of the headers; --fix writes them')
    if found:
        print('\n'.join(found))
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
