#!/usr/bin/env python3
"""Checks that a release build is hardened as SECURITY.md describes.

    hardening.py PROGRAM
"""

import re
import subprocess
import sys


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


program = sys.argv[1]
head = output_of('readelf', '--wide', '--file-header', '--program-headers', '--dynamic', program)
symbols = output_of('nm', '--dynamic', '--undefined-only', program)
stack = re.search(r'GNU_STACK.*', head)
wrong = [problem for problem, holds in [
    ('is not position-independent', re.search(r'Type: +DYN', head)),
    ('has no RELRO segment', 'GNU_RELRO' in head),
    ('has only partial RELRO, because it binds lazily', re.search(r'\(FLAGS(_1)?\).*NOW', head)),
    ('has an executable stack', stack and 'RWE' not in stack[0]),
    ('has no stack protector', '__stack_chk_fail' in symbols),
    ('has no fortified call', re.search(r'__\w+_chk\b(?<!__stack_chk)', symbols)),
] if not holds]
print('\n'.join(f'{program}: {problem}' for problem in wrong))
sys.exit(1 if wrong else 0)
