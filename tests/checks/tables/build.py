"""The options of the build, from meson_options.txt and meson.build, for docs/environment.md. The page lists the environment
variables that the library, the command and the tests read.
"""

import re

READ = re.compile(r'\b(?:secure_)?getenv\s*\(\s*"(\w+)"|\bfrom_environment\(\s*"(\w+)"|os\.environ\.get\(\s*\'(\w+)\'')
OPTION = re.compile(r"^option\('(\w+)', type: '(\w+)', value: '?(\w+)'?,\s*description: '([^']*)'\)", re.M)
# Set by the tests for the programs that they start.
INTERNAL = re.compile(r'LEAT_(SHIM|CRASH|MUTANT|TEST_AGAIN|REFUSED_THREAD)|PIPELINE_EXAMPLE|ASAN_OPTIONS')
PARTS = {
    'the library': ['include', 'lib'],
    'the command': ['tools/leat'],
    'the tests': ['tests'],
}


def variables(root, folders):
    for folder in folders:
        for path in sorted((root / folder).rglob('*')):
            if path.suffix in ('.hpp', '.cpp', '.py') and path.name != 'mutate.py':
                for names in READ.findall(path.read_text()):
                    yield from filter(None, names)


def build_options(root):
    yield '| option | values | default | effect |\n|---|---|---|---|\n'
    for name, kind, value, about in OPTION.findall((root / 'meson_options.txt').read_text()):
        values = {'boolean': 'true, false', 'feature': 'auto, enabled, disabled'}[kind]
        yield f'| `{name}` | {values} | {value} | {about} |\n'


def meson_defaults(root):
    yield '| option of Meson | default in leat |\n|---|---|\n'
    text = re.search(r'default_options: \[(.*?)\]', (root / 'meson.build').read_text(), re.S)[1]
    for name, value in re.findall(r"'([\w.]+)=([^']*)'", text):
        yield f'| `{name}` | `{value}` |\n'


def problems(root):
    page = (root / 'docs' / 'environment.md').read_text()
    for part, folders in PARTS.items():
        section = re.search(rf'^## Variables of {part}\n(.*?)(?=^## |\Z)', page, re.M | re.S)[1]
        listed = set(re.findall(r'^\| `(\w+)` \|', section, re.M))
        read = {name for name in variables(root, folders) if not INTERNAL.match(name)}
        if part == 'the tests':
            read -= set(variables(root, PARTS['the library']))
        for name in sorted(read - listed):
            yield f'docs/environment.md: {part} read {name}, and its section does not list it'
        for name in sorted(listed - read):
            yield f'docs/environment.md: lists {name} as a variable of {part}, which read no such variable'


def tables(root):
    return {'options': ''.join(build_options(root)), 'meson': ''.join(meson_defaults(root))}
