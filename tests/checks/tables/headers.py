"""The public headers by folder, for docs/headers.md."""


def tables(root):
    include, rows = root / 'include', {}
    for header in sorted((include / 'leat').rglob('*.hpp')):
        if header.parent.name not in ('detail', 'internal'):
            rows.setdefault(header.parent.relative_to(include), []).append(f'`{header.name}`')
    lines = [f'| `<{folder}/...>` | {", ".join(names)} |\n' for folder, names in sorted(rows.items())]
    return {'public': '| folder | headers |\n|---|---|\n' + ''.join(lines)}
