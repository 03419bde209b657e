#!/usr/bin/env python3
"""Checks that the object files do not depend on the folder of the sources: compiles some sources with
the flags of the build in two folders and compares the results.

    reproducible.py ROOT BUILD
"""

import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

# Sources with assertions, source locations, coroutines and inline functions.
SOURCES = ['base/internal/frame_allocator.cpp', 'io/file/atomic_file.cpp', 'input/queue_runner_def.cpp']


def compiled(command, prefix, folder):
    """Runs a compile command in a folder of sources and returns the object file; replaces `prefix`, the path to the sources."""
    wanted = []
    arguments = iter(shlex.split(command))
    for a in arguments:
        if a in ('-MQ', '-MF', '-o'):
            next(arguments)
        elif a not in ('ccache', '-MD'):
            wanted.append(a.replace(prefix, '..'))
    build = folder / 'build'
    build.mkdir(exist_ok=True)
    subprocess.run([*wanted, '-o', 'made.o'], cwd=build, check=True)
    return (build / 'made.o').read_bytes()


def main():
    root, build = (pathlib.Path(a).resolve() for a in sys.argv[1:])
    entries = json.loads((build / 'compile_commands.json').read_text())
    prefix = os.path.relpath(root, build)
    wrong = []
    with tempfile.TemporaryDirectory() as place:
        folders = [pathlib.Path(place) / 'here', pathlib.Path(place) / 'in' / 'another folder']
        for folder in folders:
            for part in ('include', 'lib'):
                shutil.copytree(root / part, folder / part)
        for name in SOURCES:
            source = f'{prefix}/lib/{name}'
            command, = (e['command'] for e in entries
                        if e['file'] == source and e['output'].startswith('lib/libleat_'))
            one, other = (compiled(command, prefix, folder) for folder in folders)
            if one != other:
                wrong.append(f'lib/{name}: object files of two folders differ')
            if str(folders[0]).encode() in one:
                wrong.append(f'lib/{name}: object file contains the path of the sources')
    print('\n'.join(wrong))
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
