"""The public headers by library and folder, for docs/headers.md."""

from layers import libraries
from public_headers import public_headers


def tables(root):
    include, folders = root / 'include' / 'leat', {}
    for header in public_headers(root):
        folders.setdefault(str(header.parent.relative_to(include)), []).append(header.name)
    layers = {layer: name for name, layers in libraries(root).items() for layer in layers}
    result = {}
    for library in libraries(root):
        lines = []
        for folder, names in sorted(folders.items()):
            of = layers.get(folder) or layers.get(folder.split('/')[0], 'runtime')
            if folder == '.':
                names = [n for n in names if layers.get(n.removesuffix('.hpp')) == library]
                names += {'runtime': ['leat.hpp', 'version.hpp'], 'tensorflow': ['tensorflow.hpp']}.get(library, [])
            elif of != library:
                continue
            where = '<leat/...>' if folder == '.' else f'<leat/{folder}/...>'
            lines.append(f'| `{where}` | {", ".join(f"`{n}`" for n in names)} |\n')
        result[library] = '| folder | headers |\n|---|---|\n' + ''.join(lines)
    return result
