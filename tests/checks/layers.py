#!/usr/bin/env python3
"""Checks that includes only point down: a layer may include the layers in its row of ALLOWED, and a folder the folders
before it in FOLDERS. A layer may not include the private headers of another: those in a folder named detail, and those in
lib. All layers of leat may include headers in a folder named internal; programs may include neither. No folder may
have more than MOST_SOURCES sources."""

import pathlib
import re
import sys

from public_headers import PRIVATE_FOLDERS

# The layers that each layer may include; a name with a slash is one folder of a layer. The libraries that consist of the
# layers are in lib/meson.build.
ALLOWED = {
    'base': set(),
    'async': {'base'},
    'files': {'base', 'async'},
    'sync': {'base', 'async'},
    'net': {'base', 'async', 'sync'},
    'tls': {'base', 'async', 'sync', 'net'},
    'sim': {'base', 'async', 'files', 'sync', 'net'},
    'tensor': {'base'},
    'queue': {'base', 'async', 'tensor'},
    'coordination': {'base', 'async', 'sync', 'queue'},
    'codec': {'base', 'tensor'},
    'io': {'base', 'async', 'files', 'codec'},
    'pipeline': {'base', 'async', 'files', 'sync', 'tensor', 'queue', 'coordination', 'codec', 'io'},
    'train': {'base', 'async', 'files', 'sync', 'tensor', 'queue', 'coordination', 'codec', 'io', 'pipeline'},
    'input': {'base', 'async', 'files', 'sync', 'tensor', 'queue', 'coordination', 'codec', 'io'},
    'train/monitored': {'base', 'async', 'files', 'sync', 'tensor', 'queue', 'coordination', 'codec', 'io', 'pipeline',
                        'train'},
}
# The folders of a layer, lowest first; '.' is the folder of the layer itself.
FOLDERS = {
    'base': ['.', 'text'],
    'async': ['scheduler', '.', 'joins', 'dump', 'tracing', 'operation', 'loop', 'blocking'],
    'sim': ['.', 'file_system', 'network', 'world'],
    'codec': ['.', 'text', 'checksum', 'tfrecord', 'compression', 'csv', 'example', 'event', 'checkpoint'],
    'io': ['backend', 'file', 'stream', 'reader', 'index', 'writer'],
    'pipeline': ['metrics', 'element', 'state', 'stage', 'source', '.', 'plan'],
    'train': ['checkpoint', 'summary', 'supervisor'],
}
# The folders of the command, which may include only public headers of the library.
TOOL_FOLDERS = ['terminal', 'report', 'trace', '.', 'input', 'output', 'plan', 'command']
MOST_SOURCES = 25

INCLUDE = re.compile(r'\s*#\s*include\s*[<"](?:leat/)?([\w/]+)\.hpp[>"]')
PRIVATE = re.compile(r'\s*#\s*include\s*"(?!leat/)|.*/detail/')
# Headers of other libraries that a layer must not include, and the exceptions.
IMPURE = {
    'base': (re.compile(r'\s*#\s*include\s*[<"]?(LEAT_ASIO|coroutine|liburing)\b'), {'lib/base/error.cpp'}),
    'tensor': (re.compile(r'\s*#\s*include\s*[<"]?(LEAT_ASIO|coroutine|fstream|thread|liburing)\b'), set()),
    'codec': (re.compile(r'\s*#\s*include\s*[<"]?(LEAT_ASIO|coroutine|fstream|thread|liburing)\b'), set()),
}
# The headers of OpenSSL, which only this layer may include.
OPENSSL = re.compile(r'\s*#\s*include\s*(?:<openssl/|LEAT_ASIO\(ssl\b|[<"](?:boost/)?asio/ssl\b)')
USES_OPENSSL = 'tls'


def layer_and_folder(parts):
    """Splits the path of a header below include/leat or lib: io/backend/detail/x becomes ('io', 'backend')."""
    parts = [p for p in parts if p not in PRIVATE_FOLDERS]
    if '/'.join(parts[:2]) in ALLOWED:
        return '/'.join(parts[:2]), '/'.join(parts[2:-1]) or '.'
    return parts[0], '/'.join(parts[1:-1]) or '.'


def libraries(root):
    """Returns the layers of each library, from lib/meson.build."""
    table = re.search(r'^libraries = \{(.*?)^\}', (root / 'lib' / 'meson.build').read_text(), re.M | re.S)[1]
    return {name: re.findall(r"'([\w/]+)'", layers) for name, layers in re.findall(r"'(\w+)': \[(.*?)\]", table)}


def library_problems(root):
    """A layer may include only layers of its own library and of those before it, which it is linked with."""
    below = set()
    for library, layers in libraries(root).items():
        for layer in layers:
            if layer not in ALLOWED:
                yield f'lib/meson.build: layer {layer} is not in ALLOWED'
        below |= set(layers)
        for layer in layers:
            for target in sorted(ALLOWED.get(layer, set()) - below):
                yield f'layers.py: {layer} of leat-{library} must not include {target}, which is in a later library'
    yield from (f'lib/meson.build: layer {layer} is in no library' for layer in ALLOWED if layer not in below)


def may_include(layer, folder, target, target_folder):
    if layer == target:
        order = FOLDERS.get(layer, ['.'])
        return order.index(target_folder) <= order.index(folder)
    return bool(ALLOWED[layer] & {target, f'{target}/{target_folder}'})


def includes(file):
    for number, line in enumerate(file.read_text().splitlines(), 1):
        if match := INCLUDE.match(line):
            yield number, match[1], bool(PRIVATE.match(line))


def library_violations(root):
    for top in ('include/leat', 'lib'):
        for file in sorted((root / top).rglob('*.[ch]pp')):
            parts = file.relative_to(root / top).parts
            if len(parts) == 1:
                continue  # a header that includes all layers
            name = file.relative_to(root)
            layer, folder = layer_and_folder(parts)
            if layer not in ALLOWED or folder not in FOLDERS.get(layer, ['.']):
                yield f'{name}: {layer}/{folder} is not in ALLOWED and FOLDERS'
                continue
            if layer in IMPURE and str(name) not in IMPURE[layer][1]:
                for number, line in enumerate(file.read_text().splitlines(), 1):
                    if match := IMPURE[layer][0].match(line):
                        yield f'{name}:{number}: {layer} must not include {match[1]}'
            if layer != USES_OPENSSL:
                for number, line in enumerate(file.read_text().splitlines(), 1):
                    if OPENSSL.match(line):
                        yield f'{name}:{number}: only {USES_OPENSSL} may include headers that need OpenSSL'
            for number, header, private in includes(file):
                target = header.split('/')
                if target[0] not in ALLOWED:
                    continue
                target_layer, target_folder = layer_and_folder(target)
                if not may_include(layer, folder, target_layer, target_folder):
                    yield f'{name}:{number}: {layer}/{folder} must not include {header}.hpp'
                if private and target_layer != layer and 'internal' not in target and target_layer != 'base':
                    yield f'{name}:{number}: {header}.hpp is private to {target_layer}'


def tool_violations(root):
    top = root / 'tools' / 'leat'
    for file in sorted(top.rglob('*.[ch]pp')):
        folder = str(file.parent.relative_to(top))
        name = file.relative_to(root)
        if folder not in TOOL_FOLDERS:
            yield f'{name}: {folder} is not in TOOL_FOLDERS'
            continue
        if file.name == 'main.cpp':
            continue
        for number, header, _ in includes(file):
            if not (top / f'{header}.hpp').is_file():
                continue
            target = str(pathlib.Path(header).parent)
            if TOOL_FOLDERS.index(target) > TOOL_FOLDERS.index(folder):
                yield f'{name}:{number}: {folder} must not include {header}.hpp'


def private_violations(root):
    """Finds programs that include a private header."""
    for top in ('examples', 'benches', 'tools'):
        for file in sorted((root / top).rglob('*.[ch]pp')):
            for number, header, _ in includes(file):
                if re.search('/(detail|internal)/', f'/{header}'):
                    yield f'{file.relative_to(root)}:{number}: must not include the private header {header}.hpp'


def large_folders(root):
    for top in ('include', 'lib', 'tests', 'examples', 'benches', 'tools'):
        for folder in [root / top, *sorted((root / top).rglob('*'))]:
            if folder.is_dir():
                count = sum(f.suffix in ('.hpp', '.cpp', '.py') for f in folder.iterdir())
                if count > MOST_SOURCES:
                    yield f'{folder.relative_to(root)}: {count} sources, but at most {MOST_SOURCES} are allowed: divide the folder'


def main():
    root = pathlib.Path(sys.argv[1])
    found = [*library_problems(root), *library_violations(root), *tool_violations(root), *private_violations(root), *large_folders(root)]
    print('\n'.join(found))
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
