#!/usr/bin/env python3
"""Checks that the library is written for both flavours: only two headers name an Asio, its headers or a namespace."""

import functools
import pathlib
import re
import sys

# These declare the names that all other files use.
DEFINING = ('include/leat/base/asio.hpp', 'include/leat/base/flavour.hpp')
# These name something that the two Asios call differently.
KNOWING = DEFINING + ('lib/base/error.cpp', 'lib/async/loop/signal_set_counts.hpp')


def problems(name, text):
    for number, line in enumerate(text.splitlines(), 1):
        if name not in DEFINING:
            if re.match(r'\s*#\s*include\s*[<"](boost/)?asio[./]', line):
                yield number, 'names a header of one Asio: write #include LEAT_ASIO(post.hpp)'
            if re.match(r'\s*namespace (leat|asio|boost)\b', line):
                yield number, 'names the namespace of one flavour: write namespace LEAT or LEAT_NAMESPACE_OF_ASIO'
        if name not in KNOWING and re.search(r'\bLEAT_ASIO_(BOOST|STANDALONE)\b', line):
            yield number, 'distinguishes the flavours: declare the difference in leat/base/asio.hpp'
    if 'LEAT_ASIO(' in text and '#include "leat/base/asio.hpp"' not in text and name not in DEFINING:
        yield 1, 'must include leat/base/asio.hpp, which defines LEAT_ASIO'


def before_namespace(text):
    return re.split(r'^namespace LEAT\b', text, maxsplit=1, flags=re.MULTILINE)[0]


@functools.cache
def defines_namespace(path):
    """True if `LEAT` is defined where the file opens its namespace: otherwise it would open another one."""
    if path.name == 'flavour.hpp':
        return True
    included = re.findall(r'^#include "([^"]+)"', before_namespace(path.read_text()), re.MULTILINE)
    files = [root / top / name for name in included for top in ('include', 'lib')]
    return any(file.is_file() and defines_namespace(file) for file in files)


root = pathlib.Path(sys.argv[1])
found = []
for top in ('include', 'lib'):
    for path in sorted((root / top).rglob('*.[ch]pp')):
        name = path.relative_to(root).as_posix()
        text = path.read_text()
        found += [f'{name}:{number}: {message}' for number, message in problems(name, text)]
        if before_namespace(text) != text and not defines_namespace(path):
            found.append(f'{name}: must include leat/base/flavour.hpp, which defines LEAT')
print('\n'.join(found))
sys.exit(1 if found else 0)
