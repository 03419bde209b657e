#!/usr/bin/env python3
"""Checks that each public class, function, field, constant and type alias has a `///` comment.

A comment may serve all declarations up to the next blank line that are overloads of the first one,
or that the comment names: `field` or function(). Constructors, operators, overrides, the members of
an awaiter or a standard container (PROTOCOL) and the aliases in ALIAS need no comment. Protected
members need one in the classes in BASES.
"""

import pathlib
import re
import sys

from public_headers import public_headers

OPERATOR = re.compile(r'\boperator\b')
EXPLAINS_ITSELF = re.compile(r'\)[^)]*=\s*(delete|default)\s*$|\boverride\b|~\w+\s*\(')
PROTOCOL = {'await_ready', 'await_suspend', 'await_resume', 'await_tuple',
            'begin', 'end', 'empty', 'size', 'swap'}
ALIAS = re.compile(r'^using\s+(value_type|options_type|batch_type|result_type|difference_type|pointer'
                   r'|reference|promise_type|\w*iterator\w*)\s*=')
# A macro that is a line of its own would be read as the beginning of the next declaration.
MACRO_LINE = re.compile(r'^LEAT_\w+$', re.M)
NO_DECLARATION = re.compile(r'^(static_assert|friend|extern|LEAT_\w+|using\s+[\w:]+\s*$)\b')
POINTER = re.compile(r'\(\s*\*\s*(\w+)\s*\)\s*\(')  # a field that points to a function
NAME = re.compile(r'^using\s+(\w+)\s*=|(\w+)\s*(?:=|\[\w*\]|\{|$)')
TYPE = re.compile(r'^(template\s*<.*>\s*)?(class|struct|union|enum(\s+class)?)\b')
SPECIALIZATION = re.compile(r'^template\s*<\s*>')
ACCESS = re.compile(r'^(public|private|protected)\s*:(?!:)\s*')
BASES = {'wait_operation', 'basic_producer', 'irrevocable_wait', 'scheduler_driver', 'synchronizer'}  # programs derive from them and use what is protected
ATTRIBUTE = re.compile(r'\[\[.*?\]\]')
# A function that returns the member of its name says so itself.
ACCESSOR = re.compile(r'\b(\w+)\(\) const (?:noexcept )?\{ return [*&]?\1_; \}$')


def code_only(text):
    """Replaces comments, literals and directives by spaces; keeps the lines."""
    def blank(match):
        return re.sub(r'[^\n]', ' ', match[0])
    text = re.sub(r'//[^\n]*|/\*.*?\*/|"(\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(\\.|[^\'\\\n])+\'',
                  blank, text, flags=re.S)
    return re.sub(r'^[ ]*#([^\n]*\\\n)*[^\n]*', blank, text, flags=re.M)


def without_arguments(head):
    """Returns `head` without what is between `<` and `>`."""
    while (shorter := re.sub(r'<[^<>]*>', '', head)) != head:
        head = shorter
    return head


def is_function(head):
    """Returns true if `head` declares a function."""
    if OPERATOR.search(head):
        return True
    return '(' in without_arguments(head).split('=')[0] and not POINTER.search(head)


def declared_name(head):
    """Returns the name of the function, field or alias that `head` declares."""
    head = without_arguments(head)
    if OPERATOR.search(head):
        return 'operator'
    if is_function(head):
        names = re.findall(r'((?:\w+::)*\w+)\s*\(', head)
        return next((name for name in names if name not in ('requires', 'explicit', 'decltype')), '')
    match = POINTER.search(head) or NAME.search(head)
    return next((group for group in match.groups() if group), '') if match else ''


def class_name(head):
    """Returns the name of the class that begins with `head`."""
    words = re.sub(r'<.*>', '', head.split(':')[0]).replace('final', '').split()
    return words[-1]


class Checker:
    def __init__(self, path, name):
        self.lines = MACRO_LINE.sub('', path.read_text()).split('\n')
        self.code = code_only('\n'.join(self.lines))
        self.name = name
        self.covered = {}  # last line of a declaration with a comment: (the names, the comment)
        self.found = []

    def comment_of(self, first, last):
        """Returns the comment that belongs to the declaration in these lines, or ''."""
        begin = first
        while begin > 0 and self.lines[begin - 1].strip().startswith('///'):
            begin -= 1
        if begin == first:
            if TYPE.match(self.lines[first].strip()):
                return ''  # the comments are those of its members
            return ' '.join(line.split('///<')[1] for line in self.lines[first:last + 1] if '///<' in line)
        return ' '.join(self.lines[begin:first])

    def declaration(self, head, first, last, within=''):
        """Checks one declaration in class `within`; `first` and `last` are its lines, from 0."""
        head = ATTRIBUTE.sub('', head).strip()
        name = declared_name(head)
        comment = self.comment_of(first, last)
        if comment:
            if not TYPE.match(head):  # the comment of a class does not cover its first member
                self.covered[last] = ({name}, comment)
            return
        if first - 1 in self.covered:
            names, comment = self.covered[first - 1]
            self.covered[last] = (names | {name}, comment)
            after_requires = '' in names  # the braces of a requires clause split a declaration
            if name in names or after_requires or re.search(rf'`{name}`|\b{name}\(', comment):
                return
        if SPECIALIZATION.match(head):
            return
        if not TYPE.match(head):
            if within and re.search(rf'(^|[\s>]){within}\s*\(', head):
                return
            if NO_DECLARATION.match(head) or ALIAS.match(head):
                return
            if is_function(head):
                if ACCESSOR.search(self.lines[first].strip()):
                    return
                if name == 'operator' or name in PROTOCOL or EXPLAINS_ITSELF.search(head):
                    return
                if '::' in name:  # declared in its class
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
                if visible and text and ('(' in text or not TYPE.match(text)):
                    self.declaration(head, first, line, scopes[-1][1] if scopes else '')
                head, first = '', None
                continue
            head += c
            if c == ':' and scopes and scopes[-1][1] and (access := ACCESS.match(head.strip())):
                is_base = access[1] == 'protected' and scopes[-1][1] in BASES
                visible = scopes[-1][0] and (access[1] == 'public' or is_base)
                head, first = '', None
        return self.found


def main():
    root = pathlib.Path(sys.argv[1])
    found = []
    for path in public_headers(root):
        found += Checker(path, path.relative_to(root)).run()
    print('\n'.join(found))
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
