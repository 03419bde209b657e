"""Finds the places in a C++ source that can be changed, and compiles all changes in.

This is not a compiler's parser: it relies on the format of the sources (clang-format). A binary
operator has spaces around it, and the angle brackets of a template do not. Unknown constructs stay
unchanged, and the compiler rejects mutants that do not compile.
"""

import dataclasses
import re

TOKEN = re.compile(r'''
    (?P<skip> \s+ | //[^\n]* | /\*.*?\*/ | ^\#(?:[^\n]*\\\n)*[^\n]* )
  | "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*'
  | [A-Za-z_]\w* | \d[\w.']*
  | \.\.\. | <=> | ->\* | <<= | >>= | :: | -> | \+\+ | -- | << | <= | >= | == | != | && | \|\|
  | [-+*/%&|^]= | .''', re.S | re.M | re.X)

SWAPS = {'<': '<=', '<=': '<', '>': '>=', '>=': '>', '==': '!=', '!=': '==', '&&': '||',
         '||': '&&', '+': '-', '-': '+', '+=': '-=', '-=': '+=', '&': '|', '|': '&'}
STEPS = {'++': '--', '--': '++'}
WORDS = {'true': 'false', 'false': 'true', 'max': 'min', 'min': 'max'}
OUTCOMES = ['done', 'closed', 'cancelled', 'failed', 'exhausted', 'late']
CLOSING = {'(': ')', '[': ']', '{': '}'}


@dataclasses.dataclass(frozen=True)
class Token:
    text: str
    start: int
    end: int


@dataclasses.dataclass
class Mutant:
    path: str
    line: int
    function: str
    original: str
    mutated: str
    number: int = 0

    @property
    def key(self):
        return f'{self.path} {self.function}: {self.original} -> {self.mutated}'


@dataclasses.dataclass
class Site:
    """A span of the source with all its mutants, and the notation of a selection there."""
    start: int
    end: int
    kind: str  # statement, condition, value or step
    original: str
    mutants: list


def tokens_of(source):
    return [Token(m[0], m.start(), m.end()) for m in TOKEN.finditer(source) if not m['skip']]


class Finder:
    def __init__(self, path, source):
        self.path, self.source, self.tokens = path, source, tokens_of(source)
        self.sites = []
        self.function, self.gives_bool = '', False

    def find(self):
        self.scope(0, len(self.tokens))
        return self.sites

    # ---- Text

    def is_at(self, i, text):
        return i < len(self.tokens) and self.tokens[i].text == text

    def text(self, first, last, changes=None):
        """Returns the tokens [first, last) on one line, with the replacements in `changes`."""
        out = []
        for i in range(first, last):
            if i > first and self.tokens[i - 1].end != self.tokens[i].start:
                out.append(' ')
            out.append((changes or {}).get(i, self.tokens[i].text))
        return ''.join(out).strip()

    def closing(self, i):
        """Returns the index of the bracket that closes the one at i."""
        expected = []
        while True:
            text = self.tokens[i].text
            if text in CLOSING:
                expected.append(CLOSING[text])
            elif expected and text == expected[-1]:
                expected.pop()
                if not expected:
                    return i
            i += 1

    def spaced(self, i):
        return (self.tokens[i - 1].end < self.tokens[i].start
                and self.tokens[i].end < self.tokens[i + 1].start)

    def is_template_argument(self, i):
        return self.is_at(i - 1, '<') and not self.spaced(i - 1)

    # ---- Scopes

    def scope(self, i, end):
        """Handles the declarations of a namespace or a class between two indices."""
        head = i
        while i < end:
            text = self.tokens[i].text
            if text in ('(', '['):
                i = self.closing(i)
            elif text == ';':
                self.member(head, i)
                head = i + 1
            elif text == ':' and self.tokens[i - 1].text in ('public', 'private', 'protected'):
                head = i + 1
            elif text == '{':
                i = self.braces(head, i)
                head = i + 1
            i += 1

    def braces(self, head, i):
        """Handles the braces after a head. Returns the index of the closing brace."""
        words = [t.text for t in self.tokens[head:i]]
        end = self.closing(i)
        before = self.before_parameters(head, i)
        if 'namespace' in words:
            self.scope(i + 1, end)
        elif '(' not in before and any(w in before for w in ('class', 'struct', 'union')):
            self.scope(i + 1, end)
        elif '(' not in words or 'enum' in words or 'concept' in words:
            return end
        elif re.match(r'[A-Za-z_]', words[-1]) and ':' in words and words[-1] not in (
                'const', 'noexcept', 'override', 'final'):
            # A member initialiser in braces; the body follows.
            return self.braces(head, self.next_brace(end + 1))
        elif not {'constexpr', 'consteval'} & set(words):
            name = words.index('(')
            while name > 0 and not re.match(r'[A-Za-z_]', words[name - 1]):
                name -= 1
            self.function, self.gives_bool = words[name - 1] if name else '', 'bool' in before
            self.block(i + 1, end)
        return end

    def before_parameters(self, head, i):
        words, depth = [], 0
        for t in self.tokens[head:i]:
            if t.text == '(':
                break
            depth += {'<': 1, '>': -1}.get(t.text, 0)
            if depth == 0:
                words.append(t.text)
        return words

    def next_brace(self, i):
        while self.tokens[i].text != '{':
            i = self.closing(i) if self.tokens[i].text == '(' else i
            i += 1
        return i

    def member(self, first, last):
        """Handles a member with a default: `bool x = false;`."""
        words = [t.text for t in self.tokens[first:last]]
        if len(words) > 3 and words[-2] == '=' and not {'constexpr', 'using', 'virtual'} & set(words):
            self.function = words[-3] if words[-3] != ')' else words[1]
            self.value(last - 1, last)

    # ---- Statements

    def block(self, i, end):
        while i < end:
            i = self.statement(i)

    def statement(self, i):
        """Handles the statement at i. Returns the index after it."""
        text = self.tokens[i].text
        if text == '{':
            end = self.closing(i)
            self.block(i + 1, end)
            return end + 1
        if text in ('if', 'while'):
            constant = self.is_at(i + 1, 'constexpr')
            opening = i + 1 + constant
            end = self.closing(opening)
            if not constant:
                self.condition(opening + 1, end)
            i = self.statement(end + 1)
            return self.statement(i + 1) if self.is_at(i, 'else') else i
        if text == 'for':
            end = self.closing(i + 1)
            self.for_head(i + 2, end)
            return self.statement(end + 1)
        if text in ('switch', 'catch'):
            return self.statement(self.closing(i + 1) + 1)
        if text in ('try', 'do', 'else'):
            return self.statement(i + 1)
        if text in ('struct', 'class', 'enum', 'using', 'static_assert', 'case', 'default'):
            return self.end_of(i) + 1
        end = self.end_of(i)
        self.simple(i, end)
        return end + 1

    def end_of(self, i):
        while self.tokens[i].text != ';':
            i = self.closing(i) if self.tokens[i].text in CLOSING else i
            i += 1
        return i

    def for_head(self, first, last):
        ends = [i for i in range(first, last) if self.tokens[i].text == ';']
        if len(ends) != 2:
            return  # a range-based for
        if ends[0] > first:
            self.declaration(first, ends[0])
        if ends[1] > ends[0] + 1:
            self.condition(ends[0] + 1, ends[1])
        if last > ends[1] + 1:
            self.add('step', ends[1] + 1, last, self.changed(ends[1] + 1, last))

    def lambdas(self, first, last):
        """Handles the bodies of lambdas. Returns True if there are any, or other braces."""
        found, i = False, first
        while i < last:
            if self.tokens[i].text == '{':
                end = self.closing(i)
                if self.tokens[i - 1].text in (')', ']', 'noexcept', 'mutable'):
                    keep = self.function, self.gives_bool
                    self.gives_bool = False
                    self.block(i + 1, end)
                    self.function, self.gives_bool = keep
                    found = True
                i = end
            i += 1
        return found

    def simple(self, i, end):
        if i == end or self.lambdas(i, end):
            return
        first = self.tokens[i].text
        if first in ('return', 'co_return'):
            changes = self.changed(i + 1, end)
            is_word = end == i + 2 and self.tokens[i + 1].text in WORDS
            if self.gives_bool and end > i + 1 and not is_word:
                changes.append((f'!({self.text(i + 1, end)})'))
            self.add('statement', i, end + 1, [f'{first} {c};' for c in changes])
        elif first == 'throw' or self.is_declaration(i, end):
            self.declaration(i, end)
        else:
            self.add('statement', i, end + 1, [f'{c};' for c in self.changed(i, end)] + [''])

    def is_declaration(self, i, end):
        if self.is_at(i, 'decltype'):
            return True
        if self.tokens[i].text in ('co_await', 'delete', '++', '--', 'break', 'continue'):
            return False
        while i + 1 < end and self.tokens[i + 1].text not in ('=', '(', '{', ';', '+=', '-='):
            a, b = self.tokens[i], self.tokens[i + 1]
            if re.match(r'[\w>*&]', a.text) and re.match(r'\w|\[', b.text) and a.end < b.start:
                return True
            i += 1
        return False

    def declaration(self, first, last):
        words = [t.text for t in self.tokens[first:last]]
        if '=' in words and not {'constexpr', 'static'} & set(words):
            self.value(first + words.index('=') + 1, last)

    # ---- Expressions

    def value(self, first, last):
        self.add('value', first, last, self.changed(first, last))

    def condition(self, first, last):
        if '=' in (t.text for t in self.tokens[first:last]) or self.lambdas(first, last):
            return
        self.add('condition', first, last,
                 self.changed(first, last) + [f'!({self.text(first, last)})'])

    def changed(self, first, last):
        """Returns the expression in [first, last), each time with one change."""
        out = []
        for i in range(first, last):
            text = self.tokens[i].text
            changes = {}
            if text in SWAPS and i > first and self.spaced(i):
                changes = {i: SWAPS[text]}
            elif text in STEPS:
                changes = {i: STEPS[text]}
            elif text in WORDS:
                changes = {i: WORDS[text]}
            elif text == '!':
                changes = {i: ''}
            elif re.fullmatch(r'\d+', text) and not self.is_template_argument(i):
                changes = {i: str(int(text) + 1)}
            elif text in OUTCOMES and self.is_at(i - 2, 'wait_outcome'):
                changes = {i: OUTCOMES[(OUTCOMES.index(text) + 1) % len(OUTCOMES)]}
            elif text == '?':
                begin = self.begin_of_condition(first, i)
                negated = f'!({self.text(begin, i)}) '
                out.append(' '.join(filter(None, (
                    self.text(first, begin), negated + self.text(i, last)))))
            if changes:
                out.append(self.text(first, last, changes))
        return out

    def begin_of_condition(self, first, i):
        depth = 0
        while i > first:
            text = self.tokens[i - 1].text
            depth += (text in ')]}') - (text in '([{')
            if depth < 0 or depth == 0 and text in (',', '=', '?', ':', '<<', 'return'):
                break
            i -= 1
        return i

    def add(self, kind, first, last, alternatives):
        original = self.text(first, last)
        start = self.tokens[first].start
        line = self.source.count('\n', 0, start) + 1
        mutants = [Mutant(self.path, line, self.function, original, m or '(nothing)')
                   for m in dict.fromkeys(alternatives) if m != original]
        if mutants:
            self.sites.append(Site(start, self.tokens[last - 1].end, kind, original, mutants))


# ------------------------------------------------------------------------------- writing them down

FORMS = {  # start, alternative and end of a selection
    'statement': ('{{', 'if (LEAT_MUTANT({n})) {{ {m} }} else', '{{ {o} }} }}'),
    'condition': ('(', 'LEAT_MUTANT({n}) ? static_cast<bool>({m}) :', 'static_cast<bool>({o}))'),
    'value': ('(', 'LEAT_MUTANT({n}) ? ({m}) :', '({o}))'),
    'step': ('(', 'LEAT_MUTANT({n}) ? static_cast<void>({m}) :', 'static_cast<void>({o}))'),
}


def instrumented(source, sites, wanted):
    """Returns the source with the wanted mutants, and the mutant in each line."""
    parts, at = ['#include "mutant.hpp"\n'], 0
    line_of = {}
    for site in sorted(sites, key=lambda s: s.start):
        mutants = [m for m in site.mutants if m.number in wanted]
        if not mutants:
            continue
        begin, one, end = FORMS[site.kind]
        parts.append(source[at:site.start] + begin.format() + '\n')
        for m in mutants:
            line_of[''.join(parts).count('\n') + 1] = m.number
            text = '' if m.mutated == '(nothing)' else m.mutated
            parts.append(one.format(n=m.number, m=text) + '\n')
        parts.append(end.format(o=site.original))
        at = site.end
    return ''.join(parts) + source[at:], line_of
