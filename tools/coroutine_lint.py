#!/usr/bin/env python3
"""Finds the forms in coroutines that g++ 12 miscompiles, and prints what to write instead.

    coroutine_lint.py FILE|FOLDER...

Reads C++ sources and headers, and the C++ blocks of Markdown files. Prints one line for each form,
FILE:LINE: FORM: SAFE FORM, and exits with status 1 if there is one. docs/pitfalls.md describes the
forms. The types of a program are known only if the files that define them are read, too: name the
folder with its headers. A form in a line that ends in the comment "coroutine_lint: ok" is not
reported.
"""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

THROW = 'co_await in a throw expression: a variable, and throw it'
CONDITIONAL = ('a conditional operator with a temporary beside a co_await or co_yield: '
               'if and else, or a variable for its result')
BRACES = ('an aggregate or a list in braces beside a co_await or co_yield: '
          'a variable, or a constructor of the struct')
PARENTHESES = 'an aggregate in parentheses beside a co_await or co_yield: a variable, or a constructor of the struct'
DEFAULT = ('a default argument that is an aggregate, of a function whose result is awaited: '
           'an overload, or a constructor of the struct')
NEW = 'co_await in a new expression: a variable, or std::make_unique'
CAPTURE = 'a lambda that captures a value beside a co_await or co_yield: a variable for the lambda, or a reference'
AWAIT_IN_CAPTURE = 'co_await in a lambda capture: a variable, and capture that'
LAMBDA_COROUTINE = 'a lambda that is a coroutine beside another co_await: a variable for the lambda or for the result'
LOGICAL = 'co_await after && or || in a condition: two conditions'
NO_VARIABLE = 'co_await in a condition, in a coroutine without a local variable: a variable for the result'
RETURN_IN_LOOP = 'if (co_await ...) with co_return and else in a loop: a variable for the result'

SUFFIXES = {'.cpp', '.cc', '.cxx', '.hpp', '.hh', '.hxx', '.h', '.md'}
AWAITS = {'co_await', 'co_yield'}
COROUTINE = AWAITS | {'co_return'}
KEYWORD = re.compile(r'\b(co_await|co_yield|co_return|task|awaitable)\b')
CONTROLS = {'if', 'for', 'while', 'switch', 'catch'}
SCOPES = {'struct', 'class', 'union', 'enum', 'namespace', 'extern', 'concept'}
STATEMENTS = {'return', 'co_return', 'co_await', 'co_yield', 'throw', 'else', 'delete', 'goto', 'case', 'new', 'do',
              'using', 'typedef', 'break', 'continue', 'default', 'operator', 'static_assert'}
# Types without a destructor, or whose constructors hide their members from the compiler's error.
SCALARS = {'bool', 'char', 'short', 'int', 'long', 'unsigned', 'signed', 'float', 'double', 'void', 'size_t',
           'ptrdiff_t', 'byte', 'string_view', 'error_code', 'time_point', 'duration', 'time_span', 'nanoseconds',
           'microseconds', 'milliseconds', 'seconds', 'minutes', 'hours', 'span', 'nullptr_t', 'errc', 'braced',
           'option_function', 'option_list', 'option_string'}
INTEGER = re.compile(r'u?int(_fast|_least)?\d+_t')
CLASSES = {'string', 'pair', 'tuple', 'optional', 'unique_ptr', 'shared_ptr', 'variant', 'function', 'exception_ptr',
           'failure', 'coroutine_handle'}
ACCEPT_BRACES = {'push_many', 'match_files', 'match_filenames_once', 'read_at', 'write_at'}
LISTS = {'vector', 'initializer_list', 'map', 'set', 'unordered_map', 'unordered_set', 'deque', 'list', 'array'}

TOKEN = re.compile(r'''
    (?P<space>\s+|//[^\n]*|/\*.*?\*/)
  | (?P<text>(?:u8|[uUL])?R"(?P<mark>[^()\s\\]*)\(.*?\)(?P=mark)"\w*
      |(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"\w*|'(?:\\.|[^'\\\n])+')
  | (?P<word>\.?\d(?:'?[\w.]|(?<=[eEpP])[+-])*|[A-Za-z_]\w*|::|->\*?|&&|\|\||<=>|[<>=!+\-*/%&|^]=|\+\+|--|<<|\.\.\.|.)
''', re.X | re.S)
CLOSING = {'(': ')', '[': ']', '{': '}'}


@dataclass
class Lambda:
    captures: tuple  # the range of its tokens
    is_coroutine: bool


@dataclass
class Function:
    """What is known of the body of a function when it ends."""
    has_variable: bool = False  # or a try block, or the closure of a lambda
    conditions: list = field(default_factory=list)  # lines of those with co_await
    is_coroutine: bool = False


@dataclass
class Expression:
    """A full expression: positions of its tokens without those in the bodies of lambdas."""
    at: list
    lambdas: list
    function: Function
    is_condition: bool = False


def blank(text):
    """Blanks preprocessor lines, so that the numbers of the other lines do not change."""
    return re.sub(r'^[ \t]*#(?:[^\n\\]|\\.|\\\n)*', lambda m: '\n' * m[0].count('\n'), text, flags=re.M | re.S)


def code_of_markdown(text):
    """Blanks all but the C++ blocks."""
    lines, inside = [], False
    for line in text.split('\n'):
        fence = re.match(r'\s*```(\w*)', line)
        if fence:
            inside = not inside and fence[1] in ('cpp', 'c++', 'cxx')
        lines.append('' if fence or not inside else line)
    return '\n'.join(lines)


class Source:
    def __init__(self, path, text):
        self.path = path
        self.allowed = {n for n, line in enumerate(text.split('\n'), 1) if line.endswith('coroutine_lint: ok')}
        text = blank(code_of_markdown(text) if path.suffix == '.md' else text)
        self.words, self.lines = [], []
        line = 1
        for m in TOKEN.finditer(text):
            if not m['space']:
                self.words.append(m[0])
                self.lines.append(line)
            line += m[0].count('\n')
        self.size = len(self.words)
        self.words += [''] * 4  # at position -1, too
        self.lines += [line] * 4
        self.close = self.matches()
        self.open = {end: begin for begin, end in self.close.items()}

    def matches(self):
        close, opened = {}, []
        for i, word in enumerate(self.words):
            if word in CLOSING:
                opened.append(i)
            elif word in CLOSING.values():
                while opened and CLOSING[self.words[opened[-1]]] != word:
                    opened.pop()
                if opened:
                    close[opened.pop()] = i
        for i in opened:  # a part of a program, as in a document
            close[i] = self.size
        return close

    def word(self, i):
        return self.words[i]

    def is_name(self, i):
        first = self.word(i)[:1]
        return first.isalpha() or first == '_'

    def lambda_body(self, i):
        """Returns the position of the body of a lambda that begins at i, or None."""
        before = self.word(i - 1)
        if self.word(i) != '[' or self.word(i + 1) == '[' or before == '[':
            return None
        if (self.is_name(i - 1) and before not in STATEMENTS | {'mutable', 'in'}) or before in (')', ']', '}'):
            return None  # a subscript, or a structured binding of an auto
        at = self.close.get(i, self.size) + 1
        if before in ('&', '&&') and self.word(i - 2) == 'auto':
            return None
        if self.word(at) == '<':
            at = self.after_angles(at)
        if self.word(at) == '(':
            at = self.close[at] + 1
        while at < self.size and self.word(at) not in ('{', ';', ')', ','):
            at = self.close[at] + 1 if self.word(at) in '([' else at + 1
        return at if self.word(at) == '{' else None

    def after_angles(self, i):
        depth = 0
        while i < self.size:
            depth += {'<': 1, '>': -1}.get(self.words[i], 0)
            i += 1
            if depth == 0:
                break
        return i

    def before_angles(self, i):
        """Returns the position before the template arguments that end at i."""
        depth = 0
        while i >= 0 and self.words[i] not in (';', '{', '}'):
            depth += {'>': 1, '<': -1}.get(self.words[i], 0)
            i -= 1
            if depth == 0:
                return i
        return -1

    def is_block(self, i, begin):
        """Returns true if the brace at i begins statements or declarations, in a statement that begins at `begin`."""
        before = self.word(i - 1)
        if before in ('&', '&&') and self.word(i - 2) == ')':
            return True  # a member function of an rvalue
        if i == begin or before in (')', '}', 'else', 'do', 'try', 'const', 'noexcept', 'override', 'final',
                                    'mutable', ':'):
            return True
        words = self.words[begin:i]
        if SCOPES & set(words[:2]) or (words[:1] == ['template'] and SCOPES & set(words)):
            return True
        arrow = max((n for n in range(begin, i) if self.words[n] == '->'), default=None)
        return (arrow is not None and self.word(arrow - 1) in (')', 'noexcept', 'const')
                and not set(self.words[arrow:i]) & {'=', ';', 'return'} and all(
                    re.fullmatch(r'[\w:<>,*&()]+', w) for w in self.words[arrow + 1:i]))


class Parser:
    """Splits a source into full expressions, and calls `check` with each."""

    def __init__(self, source, check):
        self.source, self.check = source, check
        self.found = []

    def report(self, i, form):
        line = self.source.lines[i]
        if line not in self.source.allowed:
            self.found.append((line, form))

    def run(self):
        self.block(0, self.source.size, Function(), 0)
        return sorted(set(self.found))

    def body(self, begin, end, has_variable=False):
        function = Function(has_variable)
        self.block(begin, end, function, 0)
        if not function.has_variable:
            for i in function.conditions:
                self.report(i, NO_VARIABLE)
        return function

    def block(self, begin, end, function, loops):
        s, i, start = self.source, begin, begin
        while i < end:
            word = s.word(i)
            if word in CONTROLS and '(' in (s.word(i + 1), s.word(i + 2)):
                self.expression(start, i, function)
                opening = i + 1 if s.word(i + 1) == '(' else i + 2
                closing = s.close[opening]
                self.header(word, opening + 1, closing, function)
                is_loop = word in ('for', 'while')
                if word == 'if' and loops:
                    self.return_in_loop(opening, closing)
                i = start = closing + 1
                if s.word(i) == '{':
                    self.block(i + 1, s.close[i], function, loops + is_loop)
                    i = start = s.close[i] + 1
                continue
            if word == '{' and s.is_block(i, start):
                self.expression(start, i, function)
                closing = s.close[i]
                plain = i == start or s.word(i - 1) in ('else', 'do')
                is_try = s.word(i - 1) == 'try' and i - 1 == start
                function.has_variable |= is_try
                if plain or is_try:
                    self.block(i + 1, closing, function, loops + (s.word(i - 1) == 'do'))
                else:
                    self.body(i + 1, closing, has_variable=s.word(i - 1) == 'try')
                i = start = closing + 1
                continue
            if word == '[' and (lambda_body := s.lambda_body(i)) is not None:
                i = s.close[lambda_body] + 1
                continue
            if word == ';':
                self.expression(start, i, function)
                start = i + 1
            i += 1
        self.expression(start, end, function)

    def header(self, word, begin, end, function):
        """The parts of the header of an if, a loop or a switch."""
        s, start, parts, i = self.source, begin, [], begin
        while i < end:
            if s.words[i] == '[' and (lambda_body := s.lambda_body(i)) is not None:
                i = s.close[lambda_body]
            elif s.word(i) == ';':
                parts.append((start, i))
                start = i + 1
            i += 1
        parts.append((start, end))
        condition = 1 if word == 'for' and len(parts) == 3 else len(parts) - 1
        for n, (first, last) in enumerate(parts):
            self.expression(first, last, function, word != 'catch' and n == condition)

    def expression(self, begin, end, function, is_condition=False):
        s, at, lambdas, i = self.source, [], [], begin
        if begin >= end:
            return
        function.has_variable |= self.declares(begin, end)
        while i < end:
            if s.words[i] == '[' and (body := s.lambda_body(i)) is not None:
                inner = self.body(body + 1, s.close[body], has_variable=True)
                lambdas.append(Lambda((i + 1, s.close[i]), inner.is_coroutine))
                at += range(i, s.close[i] + 1)
                i = s.close[body] + 1
                continue
            at.append(i)
            i += 1
        words = {s.words[i] for i in at}
        function.is_coroutine |= bool(words & COROUTINE)
        if is_condition and 'co_await' in words and not self.declares(begin, end):
            function.conditions.append(begin)
        self.check(self, Expression(at, lambdas, function, is_condition))

    def declares(self, begin, end):
        """Returns true if a statement looks like the declaration of a variable."""
        s, i = self.source, begin
        if s.word(i) in STATEMENTS or not s.is_name(i):
            return False
        names = 0
        while i < end and (s.is_name(i) or s.word(i) in ('::', '<', '&', '*', '&&')):
            if s.word(i) == '<':
                i = s.after_angles(i)
                continue
            if s.word(i) in STATEMENTS:
                return False
            names = 0 if s.word(i) == '::' else names + s.is_name(i)
            i += 1
        after = s.word(i) if i < end else ';'
        return (names >= 2 and after in ('=', '(', '{', ';', ',', ':', '[')) or (
            s.word(i - 1) in ('&', '*', 'auto', '&&') and after == '[')

    def return_in_loop(self, opening, closing):
        s = self.source
        if 'co_await' not in s.words[opening:closing] or s.word(closing + 1) != '{':
            return
        last = s.close[closing + 1]
        if s.word(last + 1) == 'else' and 'co_return' in s.words[closing + 1:last]:
            self.report(opening, RETURN_IN_LOOP)


@dataclass
class Struct:
    path: Path
    is_aggregate: bool
    members: dict  # the words of the type by name
    has_destructor: bool  # or bases, which may have one


class Types:
    """The structs of all sources, and which of them are aggregates with a destructor."""

    def __init__(self, sources):
        self.structs = {}
        self.functions = set()  # names that are ambiguous if they are also those of structs
        for source in sources:
            for i, word in enumerate(source.words):
                if word == '(' and source.is_name(i - 1) and (source.word(i - 2) in ('>', '&', '*') or (
                        source.is_name(i - 2) and source.word(i - 2) not in STATEMENTS)):
                    self.functions.add(source.word(i - 1))
                elif word in ('struct', 'class') and source.is_name(i + 1) and source.word(i - 1) not in ('enum', '<', ','):
                    self.add(source, i + 1)

    def add(self, s, i):
        name, opening = s.word(i), i + 1
        while s.word(opening) not in ('{', ';', '(', ')', '=', ''):
            opening += 1
        if s.word(opening) != '{':
            return
        struct = Struct(s.path, s.word(i - 1) == 'struct', {}, ':' in s.words[i + 1:opening])
        at, end, words = opening + 1, s.close[opening], []  # of a member, without the contents of brackets
        while at < end:
            word = s.word(at)
            is_body = word == '{' and '(' in words and '=' not in words
            if word == ';' or is_body:
                self.member(struct, name, words)
                words = []
            else:
                words.append(word)
            at = s.close.get(at, at) + 1
        self.structs.setdefault(name, []).append(struct)

    @staticmethod
    def member(struct, name, words):
        for label in ('public', 'private', 'protected'):
            if label in words:
                struct.is_aggregate &= label == 'public'
                words = words[words.index(label) + 2:]
        if 'virtual' in words:
            struct.is_aggregate = False
        if not words or words[0] in ('using', 'static', 'friend', 'enum', 'template', 'typedef', 'struct', 'class'):
            return
        ends = [words.index(mark) for mark in ('=', '{', '[', '(') if mark in words]
        end = min(ends, default=len(words))
        if words[end:end + 1] == ['(']:
            has_destructor = words[end - 2:end - 1] == ['~']
            struct.is_aggregate &= words[end - 1] != name or has_destructor
            struct.has_destructor |= has_destructor
        elif end >= 2:
            struct.members[words[end - 1]] = words[:end - 1]

    def candidates(self, name, path):
        """The structs of this name that a file may see: its own ones, or those of headers."""
        structs = self.structs.get(name, [])
        own = [s for s in structs if s.path == path]
        return own if own or path.suffix == '.md' else [s for s in structs if s.path.suffix.startswith('.h')]

    def is_harmful_type(self, words, path, depth=0):
        """Returns true if a member of this type may have a destructor."""
        if '*' in words or '&' in words or depth > 4:
            return False
        names = [w for w in words if re.match(r'[A-Za-z_]', w)]
        outer = words[:words.index('<')] if '<' in words else words
        last = next((w for w in reversed(outer) if re.match(r'[A-Za-z_]', w)), '')
        if last == 'array':
            return self.is_harmful_type(words[words.index('<') + 1:], path, depth) if '<' in words else True
        if last in SCALARS or INTEGER.fullmatch(last) or 'chrono' in names:
            return False
        if last in CLASSES | LISTS:
            return True
        found = self.candidates(last, path)
        return any(not s.is_aggregate or self.has_destructor(s, depth + 1) for s in found) if found else '<' in words

    def has_destructor(self, struct, depth=0):
        return struct.has_destructor or any(self.is_harmful_type(t, struct.path, depth) for t in struct.members.values())

    @staticmethod
    def is_of_leat(struct):
        """Returns true for the options and values of leat, which are safe."""
        return 'include' in struct.path.parts and 'leat' in struct.path.parts

    def is_harmful(self, name, path):
        """Returns true if the name is that of an aggregate with a destructor, outside leat's headers."""
        return any(s.is_aggregate and not self.is_of_leat(s) and self.has_destructor(s)
                   for s in self.candidates(name, path))

    def has_harmful_with(self, fields, path):
        """Returns true if an aggregate with a destructor has members of these names, and no struct of leat has them."""
        found = [s for name in self.structs for s in self.candidates(name, path)
                 if s.is_aggregate and all(f in s.members for f in fields)]
        found = [s for s in found if s.path == path] or found
        return any(map(self.has_destructor, found)) and not any(map(self.is_of_leat, found))


class Checker:
    """Reports the forms in a full expression."""

    def __init__(self, types):
        self.types = types

    def __call__(self, parser, e):
        self.parser, self.s, self.e = parser, parser.source, e
        at = e.at
        self.awaits = [i for i in at if self.s.words[i] in AWAITS]
        if not self.awaits:
            self.default_arguments()
            return
        words = {i: self.s.words[i] for i in at}
        self.lambdas()
        for i, word in words.items():
            if word == 'throw' and any(a > i for a in self.awaits):
                parser.report(i, THROW)
            elif word == 'new' and self.s.word(i - 1) != 'operator':
                self.new(i)
            elif word == '?':
                self.conditional(i)
            elif word == '(':
                self.parentheses(i)
        self.braces()
        if e.is_condition and not self.parser.declares(at[0], at[-1] + 1):
            first = min((i for i, w in words.items() if w in ('&&', '||')), default=None)
            if first is not None and any(a > first for a in self.awaits):
                parser.report(first, LOGICAL)

    def awaits_in(self, begin, end):
        return any(begin <= a < end for a in self.awaits)

    def lambdas(self):
        for inner in self.e.lambdas:
            begin, end = inner.captures
            if self.awaits_in(begin, end):
                self.parser.report(begin, AWAIT_IN_CAPTURE)
            elif any(self.captures_value(*part) for part in self.parts(begin, end)):
                self.parser.report(begin, CAPTURE)
            if inner.is_coroutine and len(self.awaits) > 1:
                self.parser.report(begin, LAMBDA_COROUTINE)

    def parts(self, begin, end):
        """Splits a range at its commas."""
        parts, start, i = [], begin, begin
        while i < end:
            if self.s.words[i] in CLOSING:
                i = self.s.close[i]
            elif self.s.words[i] == ',':
                parts.append((start, i))
                start = i + 1
            i += 1
        return [p for p in parts + [(start, end)] if p[0] < p[1]]

    def captures_value(self, begin, end):
        words = self.s.words[begin:end]
        if words[0] in ('&', 'this') or words[:1] == ['*'] or len(words) >= 3 and (self.is_scalar(words[2:]) or words[-3] == 'get'):
            return False
        return words[0] == '=' or not self.is_scalar_variable(words[0])

    @staticmethod
    def is_scalar(words):
        return len(words) == 1 and re.match(r"[\d'.]|(true|false|nullptr)$", words[0]) or words[0] == '&'

    def is_scalar_variable(self, name):
        """Returns true if the last declaration of this name has a type without a destructor."""
        s = self.s
        for i in range(self.e.at[0], 0, -1):
            if s.words[i] == name and s.word(i + 1) in ('=', ';', ',', ')', '{', '(', ':'):
                before = s.word(i - 1)
                if before in SCALARS or INTEGER.fullmatch(before) or before == '*':
                    return True
                if s.is_name(i - 1) and before not in STATEMENTS or before in ('>', '&'):
                    return False
        return False

    def new(self, i):
        end = i + 1
        while end < self.s.size and self.s.word(end) not in ('(', '{', ';', ')', ','):
            end = self.s.after_angles(end) if self.s.word(end) == '<' else end + 1
        if self.s.word(end) in ('(', '{') and self.awaits_in(end, self.s.close[end]):
            self.parser.report(i, NEW)

    # ---- Conditional operators.

    def conditional(self, i):
        kinds = self.branches(i + 1)[0] - {'throw'}
        if 'scalar' not in kinds and len(kinds) and kinds not in ({'name'}, {'moved'}, {'text'}):
            self.parser.report(i, CONDITIONAL)

    def branches(self, begin):
        """Returns what the operands after a question mark are, and the end of the last one."""
        s, i, colon = self.s, begin, None
        last = self.e.at[-1] + 1
        kinds = set()
        while i < last and s.words[i] not in (',', ';', ')', ']', '}'):
            if s.words[i] in CLOSING:
                i = s.close[i]
            elif s.words[i] == '?':
                inner, end = self.branches(i + 1)
                kinds |= inner
                if colon is not None:
                    return kinds, end
                i = begin = end
                continue
            elif s.words[i] == ':':
                if colon is not None:
                    break
                kinds |= {self.kind(begin, i)} - {'none'}
                colon, begin = i, i + 1
            i += 1
        return kinds | ({self.kind(begin, i)} - {'none'}), i

    def kind(self, begin, end):
        s = self.s
        while end - begin > 1 and s.words[begin] == '(' and s.close[begin] == end - 1:
            begin, end = begin + 1, end - 1
        words = s.words[begin:end]
        if not words:
            return 'none'
        if '?' in words:
            inner = self.branches(words.index('?') + begin + 1)[0]
            return 'scalar' if 'scalar' in inner else inner.pop() if len(inner) == 1 else 'value'
        if words[0] == 'throw':
            return 'throw'
        if words[0][-1] == '"' or words[-1] == 'nullopt':
            return 'text' if len(words) == 1 or words[-1] == 'nullopt' else 'value'
        if self.is_scalar(words) or words[0] in ('!', '-') or {'==', '!=', '<=', '>=', '&&', '||', '%'} & set(words):
            return 'scalar'
        if words[0] == 'static_cast' and not self.types.is_harmful_type(words[2:s.after_angles(begin + 1) - begin - 1],
                                                                        s.path):
            return 'scalar'
        if words[:3] == ['std', '::', 'move'] and s.close.get(begin + 3) == end - 1:
            return 'moved'
        if words[-1] == ')' and s.word(s.open[end - 1] - 1) in ('size', 'empty', 'count', 'c_str', 'data', 'zero', 'max'):
            return 'scalar'
        return 'value' if set(words) & {'(', '{', '+', 'co_await'} or words[0][-1] == '"' else 'name'

    # ---- Aggregates.

    def braces(self):
        s, skip = self.s, -1
        for i in self.e.at:
            if i < skip or s.words[i] != '{' or s.word(i - 1) == 'requires':
                continue
            end = s.close[i]
            if self.is_harmful_list(i, end):
                self.parser.report(i, BRACES)
                skip = end
            elif s.word(i + 1) == '.' and not self.awaits_in(i, end):
                skip = end  # options of leat, or unknown ones

    def type_before(self, i):
        """Returns the position of the type of a list in braces, or None if it has none."""
        s = self.s
        if s.word(i - 1) == '=':
            i -= 1
        elif s.is_name(i - 1) and s.word(i - 1) in STATEMENTS:
            return None
        at = i - 1
        while s.word(at) == ']':
            at = s.open[at] - 1
        if s.word(at) == '>':
            at = s.before_angles(at)
        elif s.is_name(at) and (s.is_name(at - 1) and s.word(at - 1) not in STATEMENTS or s.word(at - 1) in '>&*'):
            at -= 1  # the name of a variable
            while s.word(at) in ('&', '*', 'const'):
                at -= 1
            if s.word(at) == '>':
                at = s.before_angles(at)
        elif s.word(i) == '=' or at != i - 1:
            return None  # an assignment
        return at if s.is_name(at) else None

    def is_harmful_list(self, i, end):
        s, path = self.s, self.s.path
        direct, is_empty = self.awaits_in(i, end), end == i + 1
        fields = [s.words[k + 1] for k in range(i, end) if s.words[k] == '.' and s.words[k - 1] in '{,']
        at = self.type_before(i)
        if at is None:
            if fields:
                return direct or self.types.has_harmful_with(fields, path)
            return direct or not (is_empty or self.are_scalars(i + 1, end) or self.is_argument_of_leat(i))
        name = s.word(at)
        if ']' in (s.word(i - 1), s.word(i - 2)) and at < i - 2:  # an array
            return not is_empty and self.types.is_harmful_type([name], path)
        if name in LISTS:
            arguments = s.words[at + 2:s.after_angles(at + 1) - 1] if s.word(at + 1) == '<' else ['auto']
            return not is_empty and (name != 'array' or self.types.is_harmful_type(arguments, path) or 'auto' in arguments)
        if name in SCALARS | CLASSES | {'auto'} or INTEGER.fullmatch(name):
            return False
        if self.types.candidates(name, path):
            return self.types.is_harmful(name, path)
        return direct or not (is_empty or 'leat' in s.words[at - 2:at] or self.are_scalars(i + 1, end))

    def are_scalars(self, begin, end):
        return all(self.kind(*part) == 'scalar' or part[1] == part[0] + 1 and self.is_scalar_variable(self.s.words[part[0]])
                   for part in self.parts(begin, end))

    def is_argument_of_leat(self, i):
        """Returns true for an argument of a function that accepts lists and spans in braces."""
        s, opening = self.s, i - 1
        while opening >= self.e.at[0] and s.words[opening] != '(':
            opening = s.open[opening] - 1 if s.words[opening] in CLOSING.values() else opening - 1
        return s.word(opening - 1) in ACCEPT_BRACES

    def parentheses(self, i):
        name = self.s.word(i - 1)
        if not self.s.is_name(i - 1) or self.s.word(i - 2) in ('.', '->'):
            return
        if self.s.is_name(i - 2) and self.s.word(i - 2) not in STATEMENTS:
            name = self.s.word(i - 2)  # the declaration of a variable
        if (len(self.parts(i + 1, self.s.close[i])) > 1 and name not in self.types.functions
                and self.types.is_harmful(name, self.s.path)):
            self.parser.report(i, PARENTHESES)

    def default_arguments(self):
        s, at = self.s, self.e.at
        opening = next((i for i in at if s.words[i] == '(' and s.is_name(i - 1)), None)
        if opening is None or not {'task', 'awaitable'} & set(s.words[at[0]:opening]):
            return
        for begin, end in self.parts(opening + 1, s.close[opening]):
            words = s.words[begin:end]
            if '=' not in words or '{' not in words:
                continue
            type_words = words[:words.index('=') - 1]
            names = [w for w in type_words if re.match(r'[A-Za-z_]', w) and w != 'const']
            if names and self.types.is_harmful(names[-1], s.path):
                self.parser.report(begin, DEFAULT)


def files_in(paths):
    for path in map(Path, paths):
        if path.is_dir():
            yield from sorted(p for p in path.rglob('*') if p.suffix in SUFFIXES and p.is_file())
        else:
            yield path


def lint(paths):
    """Returns (path, line, form) for each form in these files and folders."""
    texts = [(path, path.read_text(errors='replace')) for path in files_in(paths)]
    # The structs of a source without coroutines are of no interest, unlike those of a header.
    sources = [Source(path, text) for path, text in texts if KEYWORD.search(text) or path.suffix.startswith('.h')]
    checker = Checker(Types(sources))
    return [(source.path, line, form) for source in sources for line, form in Parser(source, checker).run()]


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ('-h', '--help'):
        sys.exit(__doc__)
    found = lint(sys.argv[1:])
    for path, line, form in found:
        print(f'{path}:{line}: {form}')
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
