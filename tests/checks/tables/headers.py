"""The public headers by folder, for docs/headers.md."""

from public_headers import public_headers


def tables(root):
    include, rows = root / 'include', {}
    for header in public_headers(root):
        rows.setdefault(header.parent.relative_to(include), []).append(f'`{header.name}`')
    lines = [f'| `<{folder}/...>` | {", ".join(names)} |\n' for folder, names in sorted(rows.items())]
    return {'public': '| folder | headers |\n|---|---|\n' + ''.join(lines)}
