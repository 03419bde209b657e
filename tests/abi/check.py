#!/usr/bin/env python3
"""The shared library has the soname of its version, and exports the symbols that symbols.txt lists.

    check.py LIBRARY VERSION           compares; VERSION is that of the project, as 0.2.0
    check.py LIBRARY VERSION --record  writes the list anew: ninja -C BUILD record-symbols

The list has the functions and variables that no other compiler or optimisation level leaves out, and
the functions that create the stages of a pipeline, which programs do not compile for common elements. Of
the other weak symbols (inline functions, templates) the name alone is checked: they belong to leat, or are
the state of Asio that a process must have once, see lib/leat.map.
"""

import difflib
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'checks'))
from leat_symbols import demangle, is_of_leat, symbols_of  # noqa: E402

library, version = sys.argv[1:3]
RECORDED = pathlib.Path(__file__).resolve().with_name('symbols.txt')
STAGE = re.compile(r'\bleat::detail::make_\w+_stage<')
STATE_OF_ASIO = re.compile(r'_Z(GV)?ZN4asio|_ZN4asio6detail\S*(value_|top_)E$')


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def wrong_soname():
    parts = version.split('.')
    wanted = 'libleat.so.' + ('.'.join(parts[:2]) if parts[0] == '0' else parts[0])
    found = re.search(r'SONAME.*\[(.*)\]', output_of('readelf', '--dynamic', '--wide', library))
    return [] if found and found[1] == wanted else [f'soname: {found and found[1]}, not {wanted}']


def foreign(symbols):
    for name, _ in symbols:
        if not is_of_leat(name) and not STATE_OF_ASIO.match(name):
            yield f'{name}: exported, but not a symbol of leat; see lib/leat.map'


symbols = symbols_of(library, '--dynamic')
strong = [name for name, kind in symbols if kind in 'TDBR']
# A table of virtual functions is weak or not, depending on the compiler.
names = {name for name in demangle(strong) if not re.match(r'vtable|VTT|typeinfo|construction vtable', name)}
weak = demangle([name for name, kind in symbols if kind == 'W'])
names = sorted(names | {name for name in weak if STAGE.search(name)})
problems = [*wrong_soname(), *foreign(symbols)]
if '--record' in sys.argv:
    RECORDED.write_text('\n'.join(names) + '\n')
else:
    recorded = RECORDED.read_text().splitlines()
    changes = difflib.unified_diff(recorded, names, 'recorded', 'exported', lineterm='', n=0)
    problems += [line for line in changes if not line.startswith('@')]
    if recorded != names:
        problems.append('The ABI has changed. If it was meant to: ninja -C BUILD record-symbols')
print('\n'.join(problems))
sys.exit(1 if problems else 0)
