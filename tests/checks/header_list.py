#!/usr/bin/env python3
"""The public headers on disk, in include/leat/meson.build and in the umbrella are the same ones."""

import pathlib
import re
import sys

# Defines what a program has once: only who wants that includes it.
APART = {'sim/failing_new.hpp'}

root = pathlib.Path(sys.argv[1])
folder = root / 'include' / 'leat'


def meson_list(name):
    match = re.search(rf'^{name} = \[\n(.*?)^\]', (folder / 'meson.build').read_text(), re.M | re.S)
    return re.findall(r"'([^']+)'", match[1])


def by_layer(headers):
    layers = list(dict.fromkeys(h.split('/')[0] for h in headers))
    return sorted(headers, key=lambda h: (layers.index(h.split('/')[0]), h))


on_disk = {str(h.relative_to(folder)) for h in folder.rglob('*.hpp')}
detail = {h for h in on_disk if '/detail/' in h}
public = on_disk - detail - {'leat.hpp'}
listed = meson_list('leat_headers')
listed_detail = meson_list('leat_detail_headers')
umbrella = re.findall(r'#include "leat/([^"]+)"', (folder / 'leat.hpp').read_text())

found = []
for there, wanted, what in [(listed, public | {'leat.hpp'}, 'the list leat_headers'),
                            (listed_detail, detail, 'the list leat_detail_headers'),
                            (umbrella, public - APART, 'the umbrella leat.hpp')]:
    found += [f'{h} is missing in {what}' for h in sorted(wanted - set(there))]
    found += [f'{h} is in {what} and should not be' for h in sorted(set(there) - wanted)]
    found += [f'{h} stands twice in {what}' for h in sorted(set(there)) if there.count(h) > 1]
for headers, what in [(listed, 'leat_headers'), (listed_detail, 'leat_detail_headers')]:
    if headers != by_layer(headers):
        found.append(f'{what} is not sorted within its layers')

print('\n'.join(found))
sys.exit(1 if found else 0)
