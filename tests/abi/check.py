#!/usr/bin/env python3
"""The shared library has the soname of its version, and exports the public symbols that symbols.txt lists.

    check.py LIBRARY VERSION                compares; VERSION is that of the project, as 0.2.0
    check.py LIBRARY VERSION --record       writes the list: ninja -C BUILD record-symbols
    check.py LIBRARY VERSION --against OLD  compares all symbols, the private ones too, with those of the
                                            library OLD of a release

The list has the functions and variables that no other compiler or optimisation level leaves out, without those of
namespace leat::detail. Of weak symbols (inline functions, templates) the name alone is checked: they belong to leat,
or are the state of Asio that a process must have once, see lib/leat.map.
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
# In namespace detail itself; a parameter may be of such a type.
PRIVATE = re.compile(r'^(?:\w+ for )?(?:non-virtual thunk to )?leat::(?:\w+::)*detail::')
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


def strong_names(file):
    # A table of virtual functions is weak or not, depending on the compiler.
    names = demangle([name for name, kind in symbols_of(file, '--dynamic') if kind in 'TDBR'])
    return sorted({name for name in names if not re.match(r'vtable|VTT|typeinfo|construction vtable', name)})


def differences(before, after):
    changes = difflib.unified_diff(before, after, 'before', 'now', lineterm='', n=0)
    return [line for line in changes if not line.startswith('@')]


names = strong_names(library)
public = [name for name in names if not PRIVATE.match(name)]
problems = [*wrong_soname(), *foreign(symbols_of(library, '--dynamic'))]
if '--against' in sys.argv:
    problems += differences(strong_names(sys.argv[4]), names)
elif '--record' in sys.argv:
    RECORDED.write_text('\n'.join(public) + '\n')
elif found := differences(RECORDED.read_text().splitlines(), public):
    problems += [*found, 'The ABI has changed. If that is intended: ninja -C BUILD record-symbols']
print('\n'.join(problems))
sys.exit(1 if problems else 0)
