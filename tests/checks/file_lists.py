#!/usr/bin/env python3
"""Checks lists of files: the meson.build of a folder lists its headers, sources and test cases, sorted. leat/LAYER.hpp
includes all public headers of its layer except those of tensorflow.hpp. leat.hpp includes the other headers of layers."""

import pathlib
import re
import sys

from public_headers import PRIVATE_FOLDERS, is_public

# Replaces operator new, which a program can do only once, so no other header includes it.
APART = {'sim/failing_new.hpp'}

root = pathlib.Path(sys.argv[1])
include = root / 'include' / 'leat'
found = []


def check_list(folder, on_disk, suffix):
    meson = folder / 'meson.build'
    text = meson.read_text() if meson.is_file() else ''
    listed = re.findall(rf"'([\w/]+{re.escape(suffix)})'", text)
    name = meson.relative_to(root)
    found.extend(f'{name}: {f}: not listed' for f in sorted(on_disk - set(listed)))
    found.extend(f'{name}: {f}: listed, but not in the folder' for f in sorted(set(listed) - on_disk))
    # Files that depend on an option are in a separate, indented list.
    parts = [re.findall(rf"'([\w/]+{re.escape(suffix)})'", part)
             for part in re.split(r'^if .*', text, flags=re.MULTILINE)]
    ordered = [sorted(set(part), key=lambda f: ('/' in f, f)) for part in parts]
    if parts != ordered:
        found.append(f'{name}: list is not sorted or has duplicates')


def folders(top):
    return [f for f in [top, *sorted(top.rglob('*'))] if f.is_dir() and f.name not in PRIVATE_FOLDERS]


for folder in folders(include):
    check_list(folder, {str(h.relative_to(folder)) for pattern in ('*.hpp', 'detail/*.hpp', 'internal/*.hpp')
                        for h in folder.glob(pattern)}, '.hpp')
for folder in [f for f in (root / 'lib').rglob('*') if f.is_dir()]:
    check_list(folder, {s.name for s in folder.glob('*.cpp')}, '.cpp')
for folder in folders(root / 'tools' / 'leat'):
    check_list(folder, {s.name for s in folder.glob('*.cpp')}, '.cpp')
layers = [f.name for f in (root / 'lib').iterdir() if f.is_dir()] + ['faults', 'stress', 'uring']
for layer in layers:
    top = root / 'tests' / layer
    for folder in folders(top) if top.is_dir() else []:
        check_list(folder, {c.name for c in folder.glob('*_test.cpp')}, '_test.cpp')

public = {str(h.relative_to(include)) for h in include.rglob('*.hpp')
          if is_public(h) and h.parent != include} - APART


def included(header):
    return re.findall(r'#include "leat/([^"]+)"', (include / header).read_text())


# What leat.hpp leaves out: tensorflow.hpp includes it, net.hpp includes the sockets of Asio, and tls.hpp is for
# another library.
parity = set(included('tensorflow.hpp'))
found += [f'tensorflow.hpp: includes {h}, which is not a public header'
          for h in sorted(parity - public - {'input.hpp'})]
layers = sorted({h.split('/')[0] for h in public})
for layer in layers:
    wanted = {h for h in public - parity if h.startswith(layer + '/')}
    extra = {'files.hpp'} if layer == 'io' else set()
    found += [f'{layer}.hpp: must include {h}' for h in sorted(wanted - set(included(f'{layer}.hpp')))]
    found += [f'{layer}.hpp: must not include {h}' for h in sorted(set(included(f'{layer}.hpp')) - wanted - extra)]
wanted = {f'{layer}.hpp' for layer in layers} - {'sim.hpp', 'input.hpp', 'files.hpp', 'net.hpp', 'tls.hpp'} | {'version.hpp'}
if set(included('leat.hpp')) != wanted:
    found.append(f'leat.hpp: must include exactly {", ".join(sorted(wanted))}')


print('\n'.join(found))
sys.exit(1 if found else 0)
