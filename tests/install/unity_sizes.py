#!/usr/bin/env python3
"""Checks that Meson finds all objects of the library in a unity build, whichever number of sources it joins to one.

    unity_sizes.py PROJECT
"""

import pathlib
import subprocess
import sys
import tempfile

project = pathlib.Path(sys.argv[1])
# 4 is Meson's default, and every layer with an even number of sources divides by 2.
for size in (2, 4):
    with tempfile.TemporaryDirectory() as build:
        subprocess.run(['meson', 'setup', build, project, '--unity=on', f'--unity-size={size}', '-Dtests=disabled',
                        '-Dtool=disabled', '-Dexamples=disabled', '-Dbenches=disabled'],
                       check=True, stdout=subprocess.DEVNULL)
        # Compiles nothing, but reports an object that nothing makes.
        plan = subprocess.run(['ninja', '-C', build, '-n'], capture_output=True, text=True)
        if plan.returncode != 0:
            sys.exit(f'--unity-size={size}: {plan.stdout}{plan.stderr}')
