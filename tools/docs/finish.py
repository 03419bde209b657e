"""What is done to the pages that Doxygen has written: links, search index, pages of moved names."""

import html
import html.parser
import json
import re
import urllib.parse
import xml.etree.ElementTree

VOID = {'area', 'br', 'col', 'hr', 'img', 'input', 'link', 'meta', 'wbr'}
CODE = re.compile(r'(<a [^>]*>[^<]*)?<code>([\w:]+)(\(\)|&lt;[^<]*&gt;)?</code>')
TITLE = re.compile(r'(<div class="title">)(?:leat::)?([\w:]+)(?:&lt;.*?&gt;)? (\w[\w ]*?) Reference(?=<)')

# A link in code: Doxygen takes any function without a namespace, and those of std, for one of leat.
WRONG_LINK = re.compile(r'<a class="code hl_function" href="(namespace)?[^"]*">([^<]*)</a>')
# A link to a base class, with its private template arguments.
BASE = re.compile(r'(<a class="el" href="(?:class|struct)[^"]*"[^>]*>)(?:leat::)?(\w+)&lt;[^<]*</a>')


def names(tagfile):
    """The address of each name of the library: `fifo_queue`, `with_timeout`, `fifo_queue::pop`."""
    found = {}

    def add(name, address):
        for key in (name, name.removeprefix('leat::')):
            found.setdefault(key, address)

    for compound in xml.etree.ElementTree.parse(tagfile).getroot():
        kind, name = compound.get('kind'), compound.findtext('name')
        if kind in ('class', 'struct', 'concept') and '<' not in name:
            add(name, compound.findtext('filename'))
        if kind not in ('namespace', 'class', 'struct'):
            continue
        for member in compound.iter('member'):
            inner = member.findtext('name')
            if member.get('kind') in ('function', 'typedef', 'enumeration', 'variable', 'enumvalue'):
                add(f'{name}::{inner}', f'{member.findtext("anchorfile")}#{member.findtext("anchor")}')
    return found


def tidy(text):
    """The page without the repetitions that Doxygen adds."""
    text = TITLE.sub(lambda m: f'{m[1]}{m[2]} <span class="kind">{m[3].lower()}</span>', text)
    text = re.sub(r'(<title>)(?:leat::)?([\w:]+)(?:&lt;.*?&gt;)? (?:\w[\w ]*?) Reference ', r'\1\2 ', text)
    text = re.sub(r'<code>[^<]*</code>', lambda m: m[0].replace('\\|', '|'), text)  # escaped in a table
    text = BASE.sub(r'\1\2</a>', text)
    text = text.replace('<h2 class="groupheader">Detailed Description</h2>', '')
    for lists, name in (('File List', 'Headers'), ('Class List', 'Classes')):
        text = text.replace(f'>{lists}<', f'>{name}<').replace(f'<title>{lists} ', f'<title>{name} ')
    text = re.sub(r'(<tr id="row_[^"]*"[^>]*?) style="display:none;"', r'\1', text)  # Doxygen's script would unfold it
    text = WRONG_LINK.sub(lambda m: m[2] if m[2].startswith('std::') or '::' not in m[2] and m[1] else m[0], text)
    text = re.sub(r'<a href="file:[^"]*">([^<]*)</a>', r'\1', text)  # file::sync() is not the address of a file
    text = re.sub(r'<title>leat (?=·)', '<title>Namespace leat ' if 'class="kind"' in text else '<title>Coroutine runtime ', text)
    text = re.sub(r'<img src="(closed|open)\.png"[^>]*>(&#160;)?', '', text)
    return re.sub(r'<div class="summary">.*?</div>', '', text, flags=re.S)


def link_names(text, known, own):
    """The page with its code spans linked to the names of the library that they hold."""
    def link(match):
        if match[1]:
            return match[0]  # is a link
        address = known.get(match[2])
        if not address or address.partition('#')[0] == own:
            return match[0]
        return f'<a href="{address}">{match[0]}</a>'
    return CODE.sub(link, text)


class Page(html.parser.HTMLParser):
    """The sections of a page, its links and its anchors."""

    def __init__(self, text):
        super().__init__()
        self.title, self.sections, self.links, self.anchors = '', [['', '', '']], [], set()
        self.inside, self.heading, self.in_main, self.skip = [], None, False, 0
        self.pending = ''
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        anchor = values.get('id') or (values.get('name') if tag == 'a' else None)
        if anchor:
            self.anchors.add(anchor)
            if self.in_main and tag == 'a':
                self.pending = anchor
                if self.heading is not None:
                    self.heading = anchor
        for key in ('href', 'src'):
            if values.get(key):
                self.links.append(values[key])
        if tag == 'main':
            self.in_main = True
        if tag in VOID:
            return
        classes = values.get('class') or ''
        self.inside.append((tag, classes))
        if classes in ('toc', 'ttc', 'memproto', 'summary') or tag in ('script', 'style'):
            self.skip += 1
        if self.in_main and (tag in ('h1', 'h2', 'h3') and classes not in ('groupheader',)):
            self.heading = self.pending
            self.sections.append([self.pending, '', ''])

    def handle_endtag(self, tag):
        while self.inside:
            name, classes = self.inside.pop()
            if classes in ('toc', 'ttc', 'memproto', 'summary') or name in ('script', 'style'):
                self.skip -= 1
            if name == tag:
                break
        if tag in ('h1', 'h2', 'h3') and self.heading is not None:
            self.sections[-1][0] = self.heading
            self.heading = None
        if tag in ('p', 'div', 'td', 'li', 'h2', 'h3', 'dd', 'dt', 'tr'):
            self.sections[-1][2] += ' '

    def handle_data(self, data):
        if self.inside and self.inside[-1][0] == 'title':
            self.title += data
        if not self.in_main or self.skip:
            return
        if any('title' == classes for _, classes in self.inside):
            return
        if self.heading is not None:
            self.sections[-1][1] += data
        else:
            self.sections[-1][2] += data


def unneeded(name):
    """Is this a page of Doxygen that the site does not need?"""
    return re.search(r'-members\.html$|^(functions|namespacemembers|globals|graph_legend)', name)


def search_index(pages):
    """The text of search_index.js. `pages` maps the name of a file to its Page."""
    entries = []
    for name, page in sorted(pages.items()):
        title = page.title.removesuffix(' · leat').strip()
        for anchor, heading, text in page.sections:
            text = ' '.join(text.split())
            heading = ' '.join(heading.replace('◆', '').split())
            if text or heading:
                entries.append([f'{name}#{anchor}' if anchor else name, title, heading, text[:4000]])
    return 'window.leatSearchIndex = ' + json.dumps(entries, ensure_ascii=False, separators=(',', ':')) + ';\n'


def broken_links(pages, files):
    """The links of the pages that lead nowhere."""
    found = []
    for name, page in sorted(pages.items()):
        for link in sorted(set(page.links)):
            if re.match(r'(https?|mailto):', link):
                continue
            path, _, anchor = link.partition('#')
            path = urllib.parse.unquote(path) or name
            anchor = urllib.parse.unquote(anchor)
            if path not in files:
                found.append(f'{name}: {link}: no such page')
            elif anchor and path in pages and anchor not in pages[path].anchors:
                found.append(f'{name}: {link}: no such section')
    return found


def redirect(target):
    """The page of a name that has moved."""
    target = html.escape(target)
    return (f'<!DOCTYPE html><meta charset="utf-8"><title>Moved</title>\n'
            f'<meta http-equiv="refresh" content="0; url={target}">\n'
            f'<p>This page has moved to <a href="{target}">{target}</a>.</p>\n')
