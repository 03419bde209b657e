#!/usr/bin/env python3
"""Checks that all strong symbols that the libraries define are in namespace leat.

Weak symbols are instantiations of templates and inline functions of any library. The linker merges
them, so they cannot clash.
"""

import sys

from leat_symbols import demangle, is_of_leat, symbols_of

STRONG = set('TDBRSGC')

foreign = [name for library in sys.argv[1:] for name, kind in symbols_of(library, '--extern-only')
           if kind in STRONG and not is_of_leat(name)]
print('\n'.join(f'{symbol}: not in namespace leat' for symbol in demangle(foreign)))
sys.exit(1 if foreign else 0)
