#!/usr/bin/env python3
"""What SECURITY.md says that the library does not have: a network, other programs, and other variables
of the environment than those that it names.

    promises.py PROJECT LIBRARY
"""

import pathlib
import re
import subprocess
import sys

project, library = map(pathlib.Path, sys.argv[1:])
NETWORK = re.compile(r'socket|socketpair|bind|listen|accept4?|connect|shutdown|(get|set)sockopt'
                     r'|get(sock|peer)name|(recv|send)(from|to|msg|mmsg)?'
                     r'|getaddrinfo|getnameinfo|gethostby\w+|res_\w+|if_\w+|inet_\w+')
PROGRAMS = re.compile(r'exec[lv]p?e?|execveat|fexecve|posix_spawnp?|system|popen|v?fork|dlm?open')
RING = re.compile(r'\bio_uring_prep_(socket|bind|listen|accept|connect|recv|send)\w*'
                  r'|\bIORING_OP_(SOCKET|BIND|LISTEN|ACCEPT|CONNECT|RECV|SEND)\w*')
ENVIRONMENT = re.compile(r'\b(?:secure_)?getenv\s*\(\s*("?)(\w+)')

wrong = []
listing = subprocess.run(['nm', '--undefined-only', library], check=True, capture_output=True,
                         text=True).stdout
for name in sorted(set(re.findall(r'^ +U (\w+)', listing, re.MULTILINE))):
    if NETWORK.fullmatch(name):
        wrong.append(f'{library}: calls {name}(), and is to have no network')
    if PROGRAMS.fullmatch(name):
        wrong.append(f'{library}: calls {name}(), and is to start and load nothing')

read = set()
for path in sorted([*(project / 'include').rglob('*.hpp'), *(project / 'lib').rglob('*.[ch]pp')]):
    text = path.read_text()
    wrong += [f'{path}: {match[0]}: is to have no network' for match in RING.finditer(text)]
    for quote, name in ENVIRONMENT.findall(text):
        read.add(name)
        if not quote:
            wrong.append(f'{path}: getenv({name}): which variable is that?')
    if re.search(r'\b(environ|putenv|setenv)\b\s*[(;\[]', text):
        wrong.append(f'{path}: touches the environment')

security = (project / 'SECURITY.md').read_text()
promised = re.search(r'reads two variables of the environment, ((?:`\w+`[ \n]*(?:and)?[ \n]*)+)',
                     security)
named = set(re.findall(r'`(\w+)`', promised[1])) if promised else set()
if read != named:
    wrong.append(f'SECURITY.md: names {sorted(named)}, and the library reads {sorted(read)}')

print('\n'.join(wrong))
sys.exit(1 if wrong else 0)
