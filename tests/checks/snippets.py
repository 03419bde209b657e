#!/usr/bin/env python3
"""Checks that code in README and docs equals the region of the example that it names.

    <!-- snippet: examples/foo.cpp#name -->        in the document, before a fenced block
    //! [name]  ...  //! [/name]                   around the region in the example

With --fix it updates the documents.
"""

import pathlib
import re
import sys
import textwrap

MARKED = re.compile(r'<!-- snippet: (\S+)#(\S+) -->\n+```\w*\n(.*?)^```', re.M | re.S)
MARKER = '<!-- snippet:'


def region(root, file, name):
    """Returns the text between the markers, or None."""
    path = root / file
    if not path.is_file():
        return None
    match = re.search(rf'^[ ]*//! \[{re.escape(name)}\]\n(.*?)^[ ]*//! \[/{re.escape(name)}\]',
                      path.read_text(), re.M | re.S)
    if not match:
        return None
    inner = re.sub(r'^[ ]*//! \[.*\]\n', '', match[1], flags=re.M)  # markers of other regions
    return textwrap.dedent(inner)


def main():
    root, fix = pathlib.Path(sys.argv[1]), '--fix' in sys.argv[2:]
    count = 0
    for document in [root / 'README.md', *sorted((root / 'docs').rglob('*.md'))]:
        if not document.is_file():
            continue
        text = original = document.read_text()
        matches = list(MARKED.finditer(text))
        if text.count(MARKER) != len(matches):
            print(f'{document.relative_to(root)}: snippet marker without a fenced block')
            count += 1
        for match in reversed(matches):
            wanted = region(root, match[1], match[2])
            place = f'{document.relative_to(root)}:{text.count(chr(10), 0, match.start()) + 1}'
            if wanted is None:
                print(f'{place}: {match[1]}#{match[2]}: region not found')
                count += 1
            elif match[3] != wanted:
                if fix:
                    text = text[:match.start(3)] + wanted + text[match.end(3):]
                else:
                    print(f'{place}: differs from {match[1]}#{match[2]}: run ./dev lint --fix')
                    count += 1
        if text != original:
            document.write_text(text)
    return 1 if count else 0


if __name__ == '__main__':
    sys.exit(main())
