#!/usr/bin/env python3
"""Checks promises of SECURITY.md: only the layer net uses a network, the library starts no programs, and it reads only
the environment variables that the page names.

    promises.py PROJECT LIBRARY...
"""

import pathlib
import re
import subprocess
import sys

project, *libraries = map(pathlib.Path, sys.argv[1:])
NETWORK = re.compile(r'socket|socketpair|bind|listen|accept4?|connect|shutdown|(get|set)sockopt'
                     r'|get(sock|peer)name|(recv|send)(from|to|msg|mmsg)?'
                     r'|getaddrinfo|getnameinfo|gethostby\w+|res_\w+|if_\w+|inet_\w+')
PROGRAMS = re.compile(r'exec[lv]p?e?|execveat|fexecve|posix_spawnp?|system|popen|v?fork|dlm?open')
# In a source, with the global qualification that leat writes.
NETWORK_CALL = re.compile(r'(?<!\w)::(' + NETWORK.pattern + r')\(')
RING = re.compile(r'\bio_uring_prep_(socket|bind|listen|accept|connect|recv|send)\w*'
                  r'|\bIORING_OP_(SOCKET|BIND|LISTEN|ACCEPT|CONNECT|RECV|SEND)\w*')
ENVIRONMENT = re.compile(r'\b(?:secure_)?getenv\s*\(\s*("?)(\w+)')

wrong = []
for library in libraries:
    listing = subprocess.run(['nm', '--undefined-only', library], check=True, capture_output=True, text=True).stdout
    for name in sorted(set(re.findall(r'^ +U (\w+)', listing, re.MULTILINE))):
        # The runtime has the layer net. The inline functions of Asio are in leat-tls, too.
        if NETWORK.fullmatch(name) and not re.search('runtime|tls', library.name):
            wrong.append(f'{library}: calls {name}(), but must not use the network')
        if PROGRAMS.fullmatch(name):
            wrong.append(f'{library}: calls {name}(), but must not start programs or load libraries')

read = set()
for path in sorted([*(project / 'include').rglob('*.hpp'), *(project / 'lib').rglob('*.[ch]pp')]):
    text = path.read_text()
    wrong += [f'{path}: {match[0]}: must not use the network' for match in RING.finditer(text)]
    if 'net' not in path.parts:
        wrong += [f'{path}: {match[0]}): only the layer net may use the network' for match in NETWORK_CALL.finditer(text)]
    for quote, name in ENVIRONMENT.findall(text):
        read.add(name)
        if not quote:
            wrong.append(f'{path}: getenv({name}): pass the variable as a string literal')
    if re.search(r'\b(environ|putenv|setenv)\b\s*[(;\[]', text):
        wrong.append(f'{path}: must not change the environment or read all of it')

security = (project / 'SECURITY.md').read_text()
promised = re.search(r'reads \w+ variables of the environment, ((?:`\w+`,?[ \n]*(?:and)?[ \n]*)+)',
                     security)
named = set(re.findall(r'`(\w+)`', promised[1])) if promised else set()
if read != named:
    wrong.append(f'SECURITY.md: names {sorted(named)}, but the library reads {sorted(read)}')

print('\n'.join(wrong))
sys.exit(1 if wrong else 0)
