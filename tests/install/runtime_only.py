#!/usr/bin/env python3
"""The option runtime_only: the library compiles and links with Asio and nothing else, installs the headers of its
layers alone, and a program can use them.

    runtime_only.py PROJECT COMPILER...
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

project, *compiler = sys.argv[1:]
here = pathlib.Path(__file__).resolve().parent
LAYERS = {'base', 'async', 'files', 'sync', 'net', 'sim', 'tensor', 'queue', 'coordination'}
FACADES = {f'{layer}.hpp' for layer in LAYERS} | {'leat.hpp', 'version.hpp'}
OF_OTHERS = re.compile(r'/(zlib\.h|zconf\.h|isa-l|liburing|protozero|nlohmann)')
# The libraries that every C++ program needs.
OF_THE_COMPILER = re.compile(r'lib(stdc\+\+|m|gcc_s|c|pthread|atomic|c\+\+|c\+\+abi|unwind)\.so|ld-linux')
found = []


def output_of(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def check_headers(folder):
    for header in sorted(folder.rglob('*.hpp')):
        name = header.relative_to(folder)
        if name.parts[0] not in LAYERS | FACADES:
            found.append(f'{name}: installed, but not a header of the runtime')
    found.extend(f'{name}: not installed' for name in sorted(FACADES) if not (folder / name).is_file())


def check_package(package):
    for key in ('Requires', 'Requires.private', 'Libs.private'):
        if match := re.search(rf'^{re.escape(key)}:(.*)$', package, re.MULTILINE):
            found.append(f'leat-runtime.pc: {match[0]}')
    libraries = re.search(r'^Libs:(.*)$', package, re.MULTILINE)[1].split()
    found.extend(f'leat-runtime.pc: {flag}' for flag in libraries
                 if flag not in ('-L${libdir}', '-lleat-runtime', '-pthread'))


with tempfile.TemporaryDirectory() as temporary:
    root = pathlib.Path(temporary)
    build = root / 'build'
    # No package is found by name.
    environment = {**os.environ, 'CXX': ' '.join(compiler), 'PKG_CONFIG_LIBDIR': str(root), 'PKG_CONFIG_PATH': ''}
    subprocess.run(['meson', 'setup', build, project, '-Druntime_only=true', '-Dtests=disabled', '--optimization=0',
                    '-Dcpp_args=-g0', '--unity=on', '--unity-size=20'], check=True, env=environment,
                   stdout=subprocess.DEVNULL)
    subprocess.run(['meson', 'compile', '-C', build, '-j', '2'], check=True, env=environment,
                   stdout=subprocess.DEVNULL)
    headers = output_of('ninja', '-C', build, '-t', 'deps')
    found += sorted({f'the library includes {match[0]}' for match in OF_OTHERS.finditer(headers)})

    subprocess.run(['meson', 'install', '-C', build, '--no-rebuild', '--destdir', root / 'installed'], check=True,
                   stdout=subprocess.DEVNULL)
    package = next((root / 'installed').rglob('leat-runtime.pc'))
    check_headers(next((root / 'installed').rglob('version.hpp')).parent)
    check_package(package.read_text())
    for way in ['pkg-config', 'cmake']:
        status = subprocess.run([sys.executable, here / 'check.py', way, 'default', build, compiler[-1],
                                 '--keep', root / f'program-{way}']).returncode
        if status not in (0, 77):
            found.append(f'no program with {way}')
        elif status == 0:
            needed = output_of('readelf', '--dynamic', '--wide', root / f'program-{way}')
            found.extend(f'a program needs {library}' for library in re.findall(r'NEEDED.*\[(.*)\]', needed)
                         if not OF_THE_COMPILER.match(library))

print('\n'.join(found))
sys.exit(1 if found else 0)
