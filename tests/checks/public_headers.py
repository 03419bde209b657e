"""The headers that programs may include."""

PRIVATE_FOLDERS = ('detail', 'internal')


def is_public(header):
    return header.parent.name not in PRIVATE_FOLDERS


def public_headers(root):
    return [h for h in sorted((root / 'include' / 'leat').rglob('*.hpp')) if is_public(h)]
