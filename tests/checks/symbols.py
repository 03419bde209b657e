#!/usr/bin/env python3
"""What the library defines for others lies in namespace leat.

Weak symbols are instantiations of templates and inline functions, whoever's they are: the linker
merges them, so they cannot clash.
"""

import re
import subprocess
import sys

OURS = re.compile(r'^((non-virtual |virtual |covariant )?(vtable|typeinfo|typeinfo name|VTT|thunk'
                  r'|guard variable|TLS init function|TLS wrapper function|reference temporary #\d+)'
                  r'( to| for)? )?leat::|^operator.*\bleat::')
STRONG = set('TDBRSGC')

listing = subprocess.run(['nm', '--demangle', '--defined-only', '--extern-only', sys.argv[1]],
                         check=True, capture_output=True, text=True).stdout
found = []
for line in listing.splitlines():
    match = re.match(r'[0-9a-f]+ (\S) (.+)$', line)
    if match and match[1] in STRONG and not OURS.match(match[2]):
        # A function template's symbol begins with its result type.
        if not re.search(r'\bleat::', match[2].split('(')[0]):
            found.append(match[2])

print('\n'.join(f'{symbol}: not in namespace leat' for symbol in found))
sys.exit(1 if found else 0)
