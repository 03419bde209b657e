#!/usr/bin/env python3
"""Checks that each public class and function has a `///` comment.

A comment covers all declarations up to the next blank line. Constructors, operators, overrides, the
awaiter protocol and accessors of one line need no comment.
"""

import pathlib
import re
import sys

EXPLAINS_ITSELF = re.compile(
    r'=\s*(delete|default)\s*$|\boverride\b|\boperator\b|~\w+\s*\('
    r'|\b(await_ready|await_suspend|await_resume|await_tuple|begin|end|empty|size|min|max|swap)\s*\(')
ACCESSOR = re.compile(r'\(\s*\)\s*(const\s*)?(noexcept\s*)?\{\s*return [^;]*;\s*\}')
NOT_A_FUNCTION = re.compile(r'^(using|typedef|static_assert|friend|extern|LEAT_\w+)\b')
TYPE = re.compile(r'^(template\s*<.*>\s*)?(class|struct|union|enum(\s+class)?)\b')
SPECIALIZATION = re.compile(r'^template\s*<\s*>')
ACCESS = re.compile(r'^(public|private|protected)\s*:(?!:)\s*')
ATTRIBUTE = re.compile(r'\[\[.*?\]\]')


def code_only(text):
    """Replaces comments, literals and directives by spaces; keeps the lines."""
    def blank(match):
        return re.sub(r'[^\n]', ' ', match[0])
    text = re.sub(r'//[^\n]*|/\*.*?\*/|"(\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(\\.|[^\'\\\n])+\'',
                  blank, text, flags=re.S)
    return re.sub(r'^[ ]*#([^\n]*\\\n)*[^\n]*', blank, text, flags=re.M)


def class_name(head):
    """Returns the name of the class that begins with `head`."""
    words = re.sub(r'<.*>', '', head.split(':')[0]).replace('final', '').split()
    return words[-1]


class Checker:
    def __init__(self, path, name):
        self.lines = path.read_text().split('\n')
        self.code = code_only('\n'.join(self.lines))
        self.name = name
        self.covered = set()  # last lines of declarations with a comment
        self.found = []

    def declaration(self, head, first, last, within=''):
        """Checks one declaration in class `within`; `first` and `last` are its lines, from 0."""
        head = ATTRIBUTE.sub('', head).strip()
        above = self.lines[first - 1].strip() if first > 0 else ''
        documented = (above.startswith('///') or first - 1 in self.covered
                      or any('///<' in line for line in self.lines[first:last + 1]))
        if documented:
            self.covered.add(last)
            return
        if SPECIALIZATION.match(head):
            return
        if not TYPE.match(head):
            if within and re.search(rf'(^|[\s>]){within}\s*\(', head):
                return
            if '(' not in head or NOT_A_FUNCTION.match(head) or EXPLAINS_ITSELF.search(head):
                return
            if ACCESSOR.search(' '.join(self.lines[first:last + 1])):
                return
        self.found.append(f'{self.name}:{first + 1}: no /// comment: {" ".join(head.split())[:60]}')

    def run(self):
        scopes = []     # (is public, name of the class, first line, head, needs a comment)
        visible = True  # is the current position public?
        head, first, parens, line = '', None, 0, 0
        for c in self.code:
            if c == '\n':
                line += 1
            if first is None and not c.isspace():
                first = line
            if c in '([':
                parens += 1
            elif c in ')]':
                parens -= 1
            if parens == 0 and c == '{':
                text = ATTRIBUTE.sub('', head).strip()
                if re.match(r'^(inline\s+)?namespace\b', text):
                    hidden = 'detail' in text or text.endswith('namespace')
                    scopes.append((visible, '', None, '', False))
                    visible = visible and not hidden
                elif TYPE.match(text) and 'enum' not in text and '(' not in text:
                    scopes.append((visible, class_name(text), first, head, visible))
                    if visible:  # the class itself, at its first line
                        self.declaration(head, first, first)
                    visible = visible and not re.match(r'^(template\s*<.*>\s*)?class\b', text)
                else:
                    wants = visible and text != '' and text[0] not in ',='
                    scopes.append((visible, '', first, head, wants))
                    visible = False
                head, first = '', None
                continue
            if parens == 0 and c == '}' and scopes:
                visible, name, began, begun, wants = scopes.pop()
                if wants and not name:
                    self.declaration(begun, began, line, scopes[-1][1] if scopes else '')
                head, first = '', None
                continue
            if parens == 0 and c == ';':
                text = head.strip()
                if visible and text and not TYPE.match(text):
                    self.declaration(head, first, line, scopes[-1][1] if scopes else '')
                head, first = '', None
                continue
            head += c
            if c == ':' and scopes and scopes[-1][1] and ACCESS.match(head.strip()):
                visible = scopes[-1][0] and head.strip().startswith('public')
                head, first = '', None
        return self.found


def main():
    root = pathlib.Path(sys.argv[1])
    found = []
    for path in sorted((root / 'include' / 'leat').rglob('*.hpp')):
        if 'detail' not in path.parts:
            found += Checker(path, path.relative_to(root)).run()
    print('\n'.join(found))
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
