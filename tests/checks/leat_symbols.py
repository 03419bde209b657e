"""Tells symbols of leat from others, for the checks of the symbols that the library defines and exports."""

import re
import subprocess

# A name in namespace leat: a function or variable, or a symbol that the compiler generates for one, such as a table of
# virtual functions (TV), a thunk (Th), a guard (GV), a temporary (GR) or a variable of a function (Z).
OURS = re.compile(r'_Z(T\w*?|GV|GR|Z|GVZ)?(N[RO]?K?|NK?[RO]?)4leat')


def is_of_leat(mangled):
    return bool(OURS.match(mangled))


def symbols_of(library, *options):
    """Returns the mangled names that a library defines, each with its symbol type in nm."""
    listing = subprocess.run(['nm', '--defined-only', *options, library], check=True, capture_output=True, text=True)
    return [match.group(2, 1) for match in re.finditer(r'^\S+ (\S) (\S+)$', listing.stdout, re.MULTILINE)]


def demangle(names):
    return subprocess.run(['c++filt'], check=True, capture_output=True, text=True,
                          input='\n'.join(names)).stdout.splitlines()
