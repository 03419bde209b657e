#!/usr/bin/env python3
"""Checks that the library is written for both flavours: only two headers name an Asio, its headers or a namespace."""

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
    # Without the macro, this would be another namespace. Each header of leat includes flavour.hpp.
    opened = re.search(r'^namespace LEAT\b', text, re.MULTILINE)
    if opened and not re.search(r'^#(include "|define LEAT )', text[:opened.start()], re.MULTILINE):
        yield 1, 'must include a header of leat or leat/base/flavour.hpp, which defines LEAT'


root = pathlib.Path(sys.argv[1])
found = []
for top in ('include', 'lib'):
    for path in sorted((root / top).rglob('*.[ch]pp')):
        name = path.relative_to(root).as_posix()
        found += [f'{name}:{number}: {message}' for number, message in problems(name, path.read_text())]
print('\n'.join(found))
sys.exit(1 if found else 0)
