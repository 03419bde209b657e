#!/usr/bin/env python3
"""Checks that each link between the documents leads to an existing file and heading, and that each page is linked."""

import pathlib
import re
import sys

CODE = re.compile(r'^```.*?^```|`[^`\n]*`', re.M | re.S)
LINK = re.compile(r'\]\(([^()\s]+)\)')
HEADING = re.compile(r'^#+ (.+)$', re.M)


def slug(heading):
    """Returns the anchor of a heading, as GitHub generates it."""
    return re.sub(r'[^\w\- ]', '', heading.lower()).replace(' ', '-')


def anchors(document):
    """Returns the anchors of the headings."""
    text = re.sub(r'^```.*?^```', '', document.read_text(), flags=re.M | re.S)
    return {slug(heading) for heading in HEADING.findall(text)}


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    pages = sorted((root / 'docs').rglob('*.md'))
    linked, count = set(), 0
    for document in [*sorted(root.glob('*.md')), *pages]:
        text = document.read_text()
        plain = CODE.sub(lambda match: re.sub(r'[^\n]', ' ', match[0]), text)
        for match in LINK.finditer(plain):
            path, _, anchor = match[1].partition('#')
            if '://' in match[1]:
                continue
            target = (document.parent / path).resolve() if path else document
            place = f'{document.relative_to(root)}:{plain.count(chr(10), 0, match.start()) + 1}'
            if not target.exists():
                print(f'{place}: {match[1]}: file not found')
                count += 1
            elif anchor and anchor not in anchors(target):
                print(f'{place}: {match[1]}: heading not found')
                count += 1
            if target != document:
                linked.add(target)
    for page in pages:
        if page not in linked:
            print(f'{page.relative_to(root)}: no page links to this page')
            count += 1
    return 1 if count else 0


if __name__ == '__main__':
    sys.exit(main())
