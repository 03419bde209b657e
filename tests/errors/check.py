#!/usr/bin/env python3
"""Compiles each program below this folder with every compiler that is here, with Boost.Asio only with g++. None may
compile, and the first error has to contain the sentences of its comments `// expect:`.

    check.py PROJECT FLAVOUR FLAG...

The flags are those of the flavour. A folder with the name of a flavour is for this flavour.
"""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

project, flavour = pathlib.Path(sys.argv[1]), sys.argv[2]
FLAGS = ['-std=c++20', '-fsyntax-only', f'-I{project / "include"}', *sys.argv[3:]]
FLAVOURS = {'standalone', 'boost'}
COMPILERS = [c for c in ('g++', 'clang++-19') if shutil.which(c)][:1 if flavour == 'boost' else None]
EXPECT = re.compile(r'^// expect: (.+)$', re.MULTILINE)
ERROR = re.compile(r'^.*\berror: (.*)$', re.MULTILINE)


def problem(compiler, program):
    """What is wrong with the errors of a program, or nothing."""
    expected = EXPECT.findall(program.read_text())
    if not expected:
        return 'says with no comment "// expect: " what its first error is'
    done = subprocess.run([compiler, *FLAGS, str(program)], capture_output=True, text=True,
                          env={**os.environ, 'LC_ALL': 'C'})
    if done.returncode == 0:
        return f'{compiler}: it compiles'
    first = ERROR.search(done.stderr)
    text = first[1] if first else done.stderr[:200]
    if missing := [e for e in expected if e not in text]:
        return f'{compiler}: expected "{missing[0]}", the first error is "{text}"'
    return None


def main():
    programs = sorted(p for p in pathlib.Path(__file__).parent.rglob('*.cpp')
                      if p.parent.name not in FLAVOURS - {flavour})
    runs = [(c, p) for p in programs for c in COMPILERS]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda run: problem(*run), runs))
    wrong = [f'{p.name}: {what}' for (_, p), what in zip(runs, found) if what]
    print('\n'.join(wrong) or f'{len(programs)} programs, {" and ".join(COMPILERS)}')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
