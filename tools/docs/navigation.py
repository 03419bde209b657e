"""The navigation of the site: every page by its kind, as docs/README.md lists them."""

import html
import re

from pages import LINK, label

REFERENCE = (('Classes', 'annotated.html'), ('Headers', 'files.html'),
             ('Functions', 'namespaceleat.html#func-members'))
OPEN = ('Tutorial', 'How-to guides')  # sections that are open on every page


def sections(pages):
    """For each section of docs/README.md its heading, and pairs of a subheading, or '', and the pages below it."""
    index = next(path for path in pages.paths if str(path) == 'docs/README.md')
    by_label = {f'{label(path)}.html': path for path in pages.paths if path != index}
    result = []
    for section in re.split(r'^## ', (pages.root / index).read_text(), flags=re.M)[1:]:
        name, _, body = section.partition('\n')
        groups = []
        for part in re.split(r'^### ', f'\n{body}', flags=re.M):
            title, _, text = part.partition('\n')
            addresses = [pages.address(index, target).partition('#')[0] for _, target in LINK.findall(text)]
            listed = [by_label.pop(address) for address in dict.fromkeys(addresses) if address in by_label]
            if listed:
                groups.append((title.strip(), listed))
        result.append((name.strip(), groups))
    return result


def render(pages, title):
    """The HTML of the navigation. `title` returns the title of a page."""
    def item(text, address):
        return f'<li><a href="{address}">{html.escape(text)}</a></li>'

    out = ['<ul>', item('What leat is', 'index.html'), item('All documentation', 'documentation.html'), '</ul>']
    for name, groups in sections(pages):
        state = ' open' if name in OPEN else ''
        out.append(f'<details{state}><summary>{html.escape(name)}</summary>')
        for subheading, listed in groups:
            if subheading:
                out.append(f'<p>{html.escape(subheading)}</p>')
            items = [item(title(path), f'{label(path)}.html') for path in listed]
            if name == 'Reference':
                items = [item(*entry) for entry in REFERENCE] + items
            out += ['<ul>', *items, '</ul>']
        out.append('</details>')
    return '\n'.join(out)
