#!/usr/bin/env python3
"""Builds the documentation site: python3 tools/docs/site.py OUTPUT

Doxygen makes the reference of the public headers and the pages of the guides. This script prepares
its input and adds the navigation, the search and the pages of moved names. It fails on an
undocumented public name, on a link that leads nowhere and on every warning of Doxygen.
"""

import html
import pathlib
import re
import shutil
import subprocess
import sys

import finish
import header_filter
import navigation
import pages as markdown
from public_headers import public_headers  # in tests/checks, whose path header_filter adds

here = pathlib.Path(__file__).resolve().parent
root = here.parents[1]


def write_headers(folder):
    """The public headers as Doxygen is to read them."""
    for path in public_headers(root):
        target = folder / path.relative_to(root / 'include')
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(header_filter.filtered(path))


NAMESPACES = """
/** @namespace leat
Tasks, queues, coordination, files, codecs, pipelines and training. [Headers](headers.html) lists which header declares a name. */
/** @namespace leat::sim
Deterministic simulation of threads, time, files and faults. See [simulation](simulation.html). */
/** @namespace leat::this_task
Functions that act on the calling task. */
"""


def version():
    return re.search(r"version: '([^']+)'", (root / 'meson.build').read_text())[1]


def run_doxygen(work, out):
    settings = (here / 'Doxyfile').read_text() + f'''
PROJECT_NUMBER = {version()}
INPUT = {work}/include {work}/pages
STRIP_FROM_PATH = {work}/include {work}/pages
STRIP_FROM_INC_PATH = {work}/include
OUTPUT_DIRECTORY = {out}
LAYOUT_FILE = {here}/layout.xml
HTML_HEADER = {work}/header.html
HTML_FOOTER = {here}/footer.html
HTML_STYLESHEET = {here}/style.css
GENERATE_TAGFILE = {work}/names.tag
'''
    done = subprocess.run(['doxygen', '-'], input=settings, text=True, stderr=subprocess.PIPE, check=False)
    return done.stderr.replace(f'{work}/', '').strip().split('\n') if done.stderr.strip() else []


def source_page(template, file):
    """The page that shows a file, or the names in a folder."""
    path = root / file
    if path.is_dir():
        names = sorted(p.name for p in path.iterdir() if not p.name.startswith('.'))
        body = '\n'.join(names)
    else:
        body = path.read_text()
    return template.format(title=html.escape(str(file)), body=html.escape(body))


def main():
    out = pathlib.Path(sys.argv[1]).resolve()
    shutil.rmtree(out, ignore_errors=True)
    work = out.with_name(out.name + '.input')
    shutil.rmtree(work, ignore_errors=True)
    (work / 'pages').mkdir(parents=True)
    out.mkdir(parents=True)

    pages = markdown.Pages(root)
    for path in pages.paths:
        (work / 'pages' / f'{pages.known[path]}.md').write_text(pages.convert(path))
    menu = navigation.render(pages, lambda path: markdown.title(root, path))
    header = (here / 'header.html').read_text().replace('@NAVIGATION@', menu)
    (work / 'header.html').write_text(header)
    write_headers(work / 'include')
    (work / 'pages' / 'namespaces.dox').write_text(NAMESPACES)
    problems = run_doxygen(work, out)

    shutil.copy(here / 'search.js', out)
    for picture in (root / 'docs').glob('*.svg'):
        shutil.copy(picture, out)
    known = finish.names(work / 'names.tag')
    for page in out.glob('*.html'):
        if finish.unneeded(page.name):
            page.unlink()
            continue
        page.write_text(finish.link_names(finish.tidy(page.read_text()), known, page.name))
    plain = header.replace('$relpath^', '').replace('$title', '{title}')
    plain = re.sub(r'[{}](?!title})(?<!{title})', lambda m: m[0] * 2, plain)
    template = plain + '<h1>{title}</h1><pre>{body}</pre></div></main></body></html>\n'
    for file in sorted(pages.sources):
        if (root / file).exists():
            (out / markdown.source_address(file)).write_text(source_page(template, file))
    for line in (here / 'moved.txt').read_text().split('\n'):
        if line and not line.startswith('#'):
            old, new = line.split()
            (out / f'{old}.html').write_text(finish.redirect(new))

    parsed = {p.name: finish.Page(p.read_text()) for p in out.glob('*.html')}
    indexed = {name: page for name, page in parsed.items()
               if not name.startswith('source_') and page.title != 'Moved'}
    (out / 'search_index.js').write_text(finish.search_index(indexed))
    problems += finish.broken_links(parsed, {p.name for p in out.iterdir()})

    for problem in problems:
        print(problem)
    print(f'{out}/index.html: {len(indexed)} pages, {len(problems)} problems')
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
