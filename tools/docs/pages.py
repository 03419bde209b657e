"""Turns the Markdown pages of the project into pages that Doxygen reads.

Doxygen 1.9 makes no anchors of headings and does not resolve links to files. So each heading gets an
explicit anchor, and each link becomes the address of a page of the site.
"""

import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'tests' / 'checks'))
from links import slug  # noqa: E402
from public_headers import is_public  # noqa: E402

FENCED = re.compile(r'^( *```.*?^ *```$)', re.M | re.S)
LANGUAGE = re.compile(r'\A( *```)(\w*)\n')
LANGUAGES = {'cpp': '{.cpp}', 'python': '{.py}'}
HEADING = re.compile(r'^(#+) (.+?)[ \t]*$', re.M)
LINK = re.compile(r'(?<!\!)\[([^\]]*)\]\(([^()\s]+)\)')
IMAGE = re.compile(r'!\[([^\]]*)\]\(([^()\s]+)\)')
CODE = re.compile(r'(`[^`]+`)')
MARKER = re.compile(r'^[ \t]*<!--.*?-->[ \t]*$', re.M)
LONG = 4  # a page with as many sections begins with a table of contents
TOP = ('README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md')


def paths(root):
    """The pages of the project, relative to `root`."""
    found = [pathlib.Path(name) for name in TOP]
    return found + sorted(p.relative_to(root) for p in (root / 'docs').rglob('*.md'))


def label(path):
    """The name of a page on the site: `queues` for docs/queues.md, `formats_x` for docs/formats/x.md."""
    path = str(path)
    special = {'README.md': 'index', 'docs/README.md': 'documentation'}
    if path in special:
        return special[path]
    name = path.removeprefix('docs/').removesuffix('.md').replace('/', '_')
    return name.lower() if path in TOP else name


def title(root, path):
    """The text of the first heading of a page."""
    return re.search(r'^# (.+)$', (root / path).read_text(), re.M)[1].replace('`', '')


class Pages:
    def __init__(self, root):
        self.root = root
        self.paths = paths(root)
        self.known = {path: label(path) for path in self.paths}
        self.sources = set()  # files of the project that a page links to

    def address(self, page, target):
        """The address on the site of link `target` in file `page`."""
        if '://' in target or target.startswith('mailto:'):
            return target
        path, _, anchor = target.partition('#')
        file = pathlib.Path(os.path.normpath(page.parent / path)) if path else page
        if file in self.known:
            name = self.known[file]
            return f'{name}.html#{name}_{anchor}' if anchor else f'{name}.html'
        address = source_address(file)
        if address.startswith('source_'):
            self.sources.add(file)
        return address

    def convert(self, page):
        """The text of `page` for Doxygen."""
        name = self.known[page]
        parts, anchors = FENCED.split((self.root / page).read_text()), []
        for i in range(0, len(parts), 2):
            parts[i] = self.text(page, name, parts[i], anchors)
            if i + 1 < len(parts):
                parts[i + 1] = LANGUAGE.sub(lambda m: m[1] + LANGUAGES.get(m[2], '{.unparsed}') + '\n', parts[i + 1])
        text = ''.join(parts)
        if len(re.findall(r'^## ', text, re.M)) >= LONG:
            text = text.replace('\n', '\n\n[TOC]\n', 1)
        return text

    def text(self, page, name, text, anchors):
        """Text outside of code blocks, with anchors and addresses, and nothing that looks like a command.

        `anchors` are those of the page so far."""
        def link(match):
            return f'<a href="{self.address(page, match[2])}">{code(match[1])}</a>'

        def heading(match):
            if match[1] == '#':
                return f'# {match[2].replace("`", "")} {{#{"mainpage" if name == "index" else name}}}'
            anchor = slug(match[2])
            anchors.append(anchor)
            if anchors.count(anchor) > 1:  # GitHub numbers the later ones
                anchor += f'-{anchors.count(anchor) - 1}'
            return f'{match[1]} {match[2].replace("`", "")} {{#{name}_{anchor}}}'

        text = MARKER.sub('', text)
        text = HEADING.sub(heading, text)
        text = LINK.sub(link, text)
        text = IMAGE.sub(lambda m: f'<img src="{pathlib.Path(m[2]).name}" alt="{m[1]}">', text)
        parts = CODE.split(text)
        for i, part in enumerate(parts):
            if i % 2 == 0:
                parts[i] = re.sub(r'[\\@](?=\w)', r'\\\g<0>', part)
            elif part.count('"') % 2:  # Doxygen takes a quotation mark for the begin of a quotation
                parts[i] = code(part).replace('"', '&quot;')
            else:  # and an apostrophe for the end of one that a single backtick begins
                parts[i] = f'``{part[1:-1]}``'
        return ''.join(parts)


def code(text):
    return re.sub(r'`([^`]*)`', lambda m: '<code>' + m[1].replace('&', '&amp;').replace('<', '&lt;') + '</code>', text)


def source_address(file):
    """The address of the page that shows a file of the project, or documents a public header."""
    if str(file).startswith('include/leat') and file.suffix == '.hpp' and is_public(file):
        return file.name.replace('_', '__').replace('.', '_8') + '.html'
    return 'source_' + str(file).replace('/', '_') + '.html'
