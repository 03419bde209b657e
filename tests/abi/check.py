#!/usr/bin/env python3
"""Each shared library has the soname of its version, and exports the public symbols that symbols/NAME.txt lists.

    check.py VERSION LIBRARY...             compares; VERSION is that of the project, as 0.2.0
    check.py VERSION LIBRARY... --record    writes the lists: ninja -C BUILD record-symbols
    check.py VERSION LIBRARY --against OLD  compares all symbols, the private ones too, with those of the library OLD
                                            of a release

A list has the functions and variables that no other compiler or optimisation level leaves out, without those of
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

LISTS = pathlib.Path(__file__).resolve().with_name('symbols')
# In namespace detail itself; a parameter may be of such a type.
PRIVATE = re.compile(r'^(?:\w+ for )?(?:non-virtual thunk to )?leat::(?:\w+::)*detail::')
STATE_OF_ASIO = re.compile(r'_Z(GV)?ZN4asio|_ZN4asio6detail\S*(value_|top_)E$')


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def name_of(library):
    return re.match(r'lib(leat-\w+)\.so', pathlib.Path(library).name)[1]


def wrong_soname(library, version):
    parts = version.split('.')
    wanted = f'lib{name_of(library)}.so.' + ('.'.join(parts[:2]) if parts[0] == '0' else parts[0])
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


def problems_of(library, version, how):
    names = strong_names(library)
    public = [name for name in names if not PRIVATE.match(name)]
    yield from wrong_soname(library, version)
    yield from foreign(symbols_of(library, '--dynamic'))
    recorded = LISTS / f'{name_of(library)}.txt'
    if how[:1] == ['--against']:
        yield from differences(strong_names(how[1]), names)
    elif how == ['--record']:
        LISTS.mkdir(exist_ok=True)
        recorded.write_text('\n'.join(public) + '\n')
    elif found := differences(recorded.read_text().splitlines(), public):
        yield from [f'{library}:', *found, 'The ABI has changed. If that is intended: ninja -C BUILD record-symbols']


version, *arguments = sys.argv[1:]
how = next((i for i, a in enumerate(arguments) if a.startswith('--')), len(arguments))
problems = [p for library in arguments[:how] for p in problems_of(library, version, arguments[how:])]
print('\n'.join(problems))
sys.exit(1 if problems else 0)
