#!/usr/bin/env python3
"""Includes point down only: each layer sees the layers of its row and nothing else."""

import pathlib
import re
import sys

ALLOWED = {
    'core': set(),
    'sync': {'core'},
    'codec': {'core/assert.hpp', 'core/braced.hpp', 'core/error.hpp', 'core/dtype.hpp', 'core/element_spec.hpp',
              'core/ragged_tensor.hpp', 'core/shape.hpp', 'core/sparse_tensor.hpp', 'core/tensor.hpp', 'core/tensor_maker.hpp',
              'core/tensor_tuple.hpp', 'core/utf8.hpp', 'core/wire_reader.hpp'},
    'io': {'core', 'codec'},
    'pipeline': {'core', 'sync', 'codec', 'io'},
    'train': {'core', 'sync', 'codec', 'io', 'pipeline'},
    'sim': {'core', 'io'},
}
INCLUDE = re.compile(r'\s*#\s*include\s*[<"](?:leat/)?(\w+)/([\w/]+\.hpp)[>"]')
# Headers of others that a pure layer has no business with.
IMPURE = re.compile(r'\s*#\s*include\s*[<"](asio|coroutine|fstream|thread|liburing)\b')


def violations(file, name, layer):
    for number, line in enumerate(file.read_text().splitlines(), 1):
        place = f'{name}:{number}'
        if layer == 'codec' and (match := IMPURE.match(line)):
            yield f'{place}: codec is pure and must not include {match[1]}'
        match = INCLUDE.match(line)
        if not match:
            continue
        target, rest = match[1], match[2]
        if layer is None:
            if '/detail/' in f'/{rest}':
                yield f'{place}: only public headers here, not {target}/{rest}'
        elif target in ALLOWED and target != layer:
            if not ALLOWED[layer] & {target, f'{target}/{rest}'}:
                yield f'{place}: {layer} must not include {target}/{rest}'


def main():
    root = pathlib.Path(sys.argv[1])
    found = []
    for top in ('include/leat', 'lib', 'examples', 'benches', 'tools'):
        for file in sorted((root / top).rglob('*.[ch]pp')):
            inside = file.relative_to(root / top).parts
            layer = None
            if top in ('include/leat', 'lib'):
                if len(inside) == 1:
                    continue  # the umbrella
                layer = inside[0]
                if layer not in ALLOWED:
                    found.append(f'{file.relative_to(root)}: {layer} is no layer')
                    continue
            found += violations(file, file.relative_to(root), layer)
    print('\n'.join(found))
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
