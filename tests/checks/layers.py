#!/usr/bin/env python3
"""Checks that includes only point down: a layer may include the layers in its row of ALLOWED, and a folder the folders
before it in FOLDERS. A layer may not include the private headers of another: those in a folder named detail, and those in
lib. All layers may include the private headers of base, and programs may not. No folder may have more than MOST_SOURCES
sources."""

import pathlib
import re
import sys

from public_headers import PRIVATE_FOLDERS

# The layers that each layer may include; a name with a slash is one folder of a layer.
ALLOWED = {
    'base': set(),
    'async': {'base'},
    'sync': {'base', 'async'},
    'tensor': {'base'},
    'codec': {'base', 'tensor'},
    'io': {'base', 'async', 'codec'},
    'queue': {'base', 'async', 'tensor'},
    'coordination': {'base', 'async', 'sync', 'queue'},
    'input': {'base', 'async', 'sync', 'tensor', 'codec', 'io', 'queue', 'coordination'},
    'pipeline': {'base', 'async', 'sync', 'tensor', 'codec', 'io', 'queue', 'coordination', 'input'},
    'train': {'base', 'async', 'sync', 'tensor', 'codec', 'io', 'queue', 'coordination', 'input', 'pipeline'},
    'sim': {'base', 'async', 'io/backend'},
}
# The folders of a layer, lowest first; '.' is the folder of the layer itself.
FOLDERS = {
    'base': ['.', 'text'],
    'async': ['scheduler', '.', 'joins', 'dump', 'tracing', 'operation', 'loop', 'blocking'],
    'codec': ['.', 'text', 'checksum', 'tfrecord', 'compression', 'csv', 'example', 'event', 'checkpoint'],
    'io': ['backend', 'file', 'stream', 'reader', 'index', 'writer'],
    'queue': ['.'],
    'pipeline': ['metrics', 'element', 'state', 'stage', 'source', '.'],
    'train': ['checkpoint', 'summary', 'supervisor', 'monitored'],
    'sim': ['.', 'file_system', 'world'],
}
# The folders of the command, which may include only public headers of the library.
TOOL_FOLDERS = ['terminal', 'report', 'trace', '.', 'input', 'output', 'plan', 'command']
MOST_SOURCES = 25

INCLUDE = re.compile(r'\s*#\s*include\s*[<"](?:leat/)?([\w/]+)\.hpp[>"]')
PRIVATE = re.compile(r'\s*#\s*include\s*"(?!leat/)|.*/(?:detail|internal)/')
# Private headers that other layers still include, and these layers. A header that no longer needs its row loses it.
SHARED = {
    'async/backoff': {'train'},
    'async/blocking/detail/blocking_calls': {'sim'},
    'async/blocking/worker_threads': {'io'},
    'async/detail/thread_record': {'coordination'},
    'async/detail/tick_schedule': {'coordination'},
    'async/detail/yield_turn': {'coordination', 'input', 'io', 'pipeline'},
    'async/dump/detail/live_object': {'queue', 'sync'},
    'async/dump/detail/recent_tasks': {'queue', 'sync'},
    'async/dump/detail/scope_handover': {'pipeline'},
    'async/dump/dump_printers': {'queue', 'sync'},
    'async/dump/process_snapshot': {'queue', 'sync'},
    'async/live_tasks_text': {'coordination', 'queue', 'sim', 'sync'},
    'async/loop/detail/event_loop_scheduler': {'io'},
    'async/loop/detail/signal_receiver': {'sim'},
    'async/scope_error': {'coordination'},
    'async/scope_registry': {'sim', 'sync', 'train'},
    'codec/compression/deflate_header': {'io'},
    'codec/compression/inflate_limits': {'io'},
    'codec/csv/csv_record_splitter': {'io'},
    'codec/csv/csv_text': {'io'},
    'codec/text/line_splitter': {'io'},
    'input/detail/pop_from_producer': {'pipeline'},
    'input/detail/producer_list': {'pipeline'},
    'io/backend/buffer_ownership': {'sim'},
    'io/file/detail/atomic_file': {'train'},
    'io/index/detail/epoch_limits': {'pipeline'},
    'io/stream/detail/decompressed_stream': {'pipeline'},
    'pipeline/stage/detail/step_observer': {'train'},
    'tensor/tensor_builder': {'codec'},
}
# Headers of other libraries that a layer must not include, and the exceptions.
IMPURE = {
    'base': (re.compile(r'\s*#\s*include\s*[<"](asio|coroutine|liburing)\b'), {'lib/base/error.cpp'}),
    'tensor': (re.compile(r'\s*#\s*include\s*[<"](asio|coroutine|fstream|thread|liburing)\b'), set()),
    'codec': (re.compile(r'\s*#\s*include\s*[<"](asio|coroutine|fstream|thread|liburing)\b'), set()),
}


def layer_and_folder(parts):
    """Splits the path of a header below include/leat or lib: io/backend/detail/x becomes ('io', 'backend')."""
    parts = [p for p in parts if p not in PRIVATE_FOLDERS]
    return parts[0], '/'.join(parts[1:-1]) or '.'


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
    used = set()
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
            for number, header, private in includes(file):
                target = header.split('/')
                if target[0] not in ALLOWED:
                    continue
                target_layer, target_folder = layer_and_folder(target)
                if not may_include(layer, folder, target_layer, target_folder):
                    yield f'{name}:{number}: {layer}/{folder} must not include {header}.hpp'
                if private and target_layer not in ('base', layer):
                    if layer in SHARED.get(header, ()):
                        used.add((header, layer))
                    else:
                        yield f'{name}:{number}: {header}.hpp is private to {target_layer}'
    for header, layers in SHARED.items():
        for layer in sorted(layers):
            if (header, layer) not in used:
                yield f'layers.py: SHARED: {layer} no longer includes {header}.hpp: remove it'


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
    found = [*library_violations(root), *tool_violations(root), *private_violations(root), *large_folders(root)]
    print('\n'.join(found))
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
