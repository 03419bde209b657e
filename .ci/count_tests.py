#!/usr/bin/env python3
"""Prints the number of passed and failed tests in the Meson test logs (testlog.json) on the command line.

Each test case of a Catch2 program counts, and any other program counts as one test. Skipped tests do not count.
"""

import json
import pathlib
import re
import sys

ALL_PASSED = re.compile(r'^All tests passed \(\d+ assertions? in (\d+) test cases?\)', re.M)
SOME_FAILED = re.compile(r'^test cases: +(\d+) \|(?: +(\d+) passed \|)? +(\d+) failed', re.M)


def count(test):
    output = test.get('stdout') or ''
    good = test['result'] in ('OK', 'EXPECTEDFAIL')
    if test['result'] in ('SKIP', 'IGNORED'):
        return 0, 0
    if good:
        match = ALL_PASSED.search(output)
        return (int(match[1]) if match else 1), 0
    match = SOME_FAILED.search(output)
    return (int(match[2] or 0), int(match[3])) if match else (0, 1)


passed = failed = 0
for path in map(pathlib.Path, sys.argv[1:]):
    if path.is_file():
        for line in path.read_text().splitlines():
            ok, bad = count(json.loads(line))
            passed += ok
            failed += bad
print(passed, failed)
