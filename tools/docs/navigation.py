"""The navigation of the site: every page by its kind, as docs/README.md lists them."""

import html
import re

from pages import LINK, label

REFERENCE = (('Classes', 'annotated.html'), ('Headers', 'files.html'),
             ('Functions', 'namespaceleat.html'))
OPEN = ('Tutorial', 'How-to guides')  # sections that are open on every page


def sections(pages):
    """Pairs of a heading of docs/README.md and the pages that its section links to."""
    index = next(path for path in pages.paths if str(path) == 'docs/README.md')
    text = (pages.root / index).read_text()
    placed, result = set(), []
    for part in re.split(r'^## ', text, flags=re.M)[1:]:
        name, _, body = part.partition('\n')
        listed = []
        for _, target in LINK.findall(body):
            address = pages.address(index, target).partition('#')[0]
            path = next((p for p in pages.paths if f'{label(p)}.html' == address), None)
            if path and path not in placed and str(path) != 'docs/README.md':
                placed.add(path)
                listed.append(path)
        result.append((name.strip(), listed))
    return result


def render(pages, title):
    """The HTML of the navigation. `title` returns the title of a page."""
    def item(text, address):
        return f'<li><a href="{address}">{html.escape(text)}</a></li>'

    def group(name, items):
        state = ' open' if name in OPEN else ''
        return [f'<details{state}><summary>{html.escape(name)}</summary><ul>', *items, '</ul></details>']

    out = ['<ul>', item('What leat is', 'index.html'), item('All documentation', 'documentation.html'), '</ul>']
    for name, listed in sections(pages):
        items = [item(title(path), f'{label(path)}.html') for path in listed]
        if name == 'Reference':
            items = [item(*entry) for entry in REFERENCE] + items
        if items:
            out += group(name, items)
    return '\n'.join(out)
