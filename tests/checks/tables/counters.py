"""The counters of the public headers, for docs/metrics.md, by `HEADER#STRUCT` as in options.py. The page lists each metric of
metrics() and prometheus_text() with its type, and each tag of stage_rates.
"""

import re

from options import STRUCT, members
from public_headers import public_headers

METRIC = re.compile(r'\{\s*"(leat_\w+)",\s+"(gauge|counter)"')
METRIC_SOURCES = ['async/blocking/blocking_threads.cpp', 'async/dump/internal/metric_sample.hpp', 'async/dump/metrics.cpp',
                  'pipeline/metrics/prometheus_text.cpp', 'queue/queue_metrics.cpp']


def tables(root):
    include, found = root / 'include' / 'leat', {}
    for header in public_headers(root):
        for _, name, body in STRUCT.findall(header.read_text()):
            if name.endswith('_statistics'):
                found[f'{header.relative_to(include).as_posix()}#{name}'] = ''.join(table(body))
    return found


def table(body):
    yield '| member | meaning |\n|---|---|\n'
    for member, _, _, meaning in members(body):
        yield f'| `{member}` | {meaning} |\n'


def problems(root):
    page = (root / 'docs' / 'metrics.md').read_text()
    rows = dict(re.findall(r'^\| `(leat_\w+)` \| (\w+) \|', page, re.M))
    metrics = dict(METRIC.findall(''.join((root / 'lib' / source).read_text() for source in METRIC_SOURCES)))
    for name in sorted(rows.keys() | metrics.keys()):
        if rows.get(name) != metrics.get(name):
            yield f'docs/metrics.md: {name} is {rows.get(name)}, in the code {metrics.get(name)}'
    for tag in re.findall(r'\badd\("(\w+)"', (root / 'lib/train/summary/stage_rates.cpp').read_text()):
        if f'`STAGE/{tag}`' not in page:
            yield f'docs/metrics.md: the tag STAGE/{tag} is missing'

