#!/usr/bin/env python3
"""A release build is hardened as SECURITY.md says.

    hardening.py PROGRAM
"""

import re
import subprocess
import sys


def told_by(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


program = sys.argv[1]
head = told_by('readelf', '--wide', '--file-header', '--program-headers', '--dynamic', program)
symbols = told_by('nm', '--dynamic', '--undefined-only', program)
stack = re.search(r'GNU_STACK.*', head)
wrong = [what for what, holds in [
    ('is not position-independent', re.search(r'Type: +DYN', head)),
    ('has no RELRO segment', 'GNU_RELRO' in head),
    ('binds late, so RELRO is partial', re.search(r'\(FLAGS(_1)?\).*NOW', head)),
    ('has an executable stack', stack and 'RWE' not in stack[0]),
    ('has no stack protector', '__stack_chk_fail' in symbols),
    ('has no fortified call', re.search(r'__\w+_chk\b(?<!__stack_chk)', symbols)),
] if not holds]
print('\n'.join(f'{program}: {what}' for what in wrong))
sys.exit(1 if wrong else 0)
