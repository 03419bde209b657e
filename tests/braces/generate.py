#!/usr/bin/env python3
"""Generates the test of options in braces inside `co_await`, from the public headers.

usage: generate.py INCLUDE_LEAT FIXTURE OUTPUT

Finds every struct of options, and every public function that takes one, by value or by reference,
and gives something to await. Each function is called in braces: with none of the members, with each
one that owns memory, and with all of these. FIXTURE has macros that say how to call them: one for a
function, or one for functions that differ only in a name, its first parameter. A function, or the
type of a member, that is not known here ends this with a message that says what to add.
"""

import re
import sys
from pathlib import Path

import headers

# Sample values of members, by type. The string is short, since a short string points into itself.
SAMPLES = {
    'std::string': '"s"',
    'std::stop_token': 'f.stop.get_token()',
    'partial_shape': '{leat::unknown_dimension, 2}',
    'std::vector<std::string>': '{"a", f.long_text}',
    'std::vector<errc>': '{leat::errc::aborted, leat::errc::unavailable}',
    'std::vector<std::size_t>': '{0, 1}',
    'std::vector<double>': '{1.5}',
    'std::vector<scheduler*>': '{leat::scheduler::current()}',
    'std::vector<summary_value>':
        '{{.tag = "a", .value = 0.5F}, {f.long_text, leat::histogram_data()}}',
    'std::variant<std::monostate, float, histogram_data, unparsed_value>':
        'leat::unparsed_value{.field = 4, .bytes = f.long_text}',
    'content': 'leat::summary{.values = {{.tag = f.long_text, .value = 0.5F}}}',
    'std::vector<renamed_entry>': '{{"a", f.long_text}, {.from = "c", .to = "d"}}',
}


def in_full(type_):
    """Returns the type of a member without the aliases of braced."""
    type_ = re.sub(r'^option_string$', 'braced<std::string>', type_)
    type_ = re.sub(r'^option_list<(.*)>$', r'braced<std::vector<\1>>', type_)
    return re.sub(r'^option_function<(.*)>$', r'braced<std::function<\1>>', type_)


def sample(type_):
    if type_.startswith('std::function<'):
        return 'f.callable'
    if type_.startswith('std::shared_ptr<'):
        return 'f.owner'
    return SAMPLES.get(type_)


class Tests:
    def __init__(self, include, fixture):
        self.structs, self.functions = headers.read(include)
        text = ''.join(p.read_text() for p in sorted(Path(include).rglob('*.hpp')))
        self.aliases = sorted(set(re.findall(r'using options = (\w+);', text)))
        self.macros = set(re.findall(r'#define (CALL_\w+)\(', fixture))
        self.needed = dict(re.findall(r'// needs (\w+) (.*)', fixture))
        self.unused = set(self.macros)
        self.problems = []

    def is_options(self, type_):
        if re.fullmatch(r'(?!const ).*[^&]&', type_):
            return None  # braces make no object to which it could refer
        name = re.sub(r'const |&|<.*', '', type_).strip()
        return name if name in self.structs or name == 'options_type' else None

    # Asserts that the members are safe in braces. The compiler decides about their types.
    def assertions(self):
        wanted = [s for s in self.structs.values() if re.search(r'_(options|policy)$', s.name)]
        wanted += [self.structs[o] for f in self.functions for t, _ in f.parameters
                   if self.awaitable(f) and (o := self.is_options(t)) in self.structs]
        seen = set()
        while wanted:
            s = wanted.pop(0)
            if s.name in seen:
                continue
            seen.add(s.name)
            of = s.space + s.name + ('<leat::line_reader>' if s.template else '')
            for type_, name in s.members:
                if 'function<' not in type_:
                    words = re.findall(r'\w+', type_)
                    words += re.findall(r'\w+', ' '.join(s.aliases.get(w, '') for w in words))
                    wanted += [self.structs[t] for t in words
                               if t in self.structs]
                yield (f'static_assert(leat_braces::is_safe<decltype({of}::{name})>,\n'
                       f'              "{s.header}: {s.name}::{name} must be a braced<{type_}>");')

    # Yields (text, whether it sets all members) for each form of an options struct in braces.
    def forms(self, name):
        s = self.structs[name]
        needed = self.needed.get(name, '')
        prefix = needed + ', ' if needed else ''
        yield '{' + needed + '}', False
        every, count = needed, 0
        for type_, member in s.members:
            value = self.value(type_, f'{s.header}: {name}::{member}')
            if not value or f'.{member} =' in needed:
                continue
            yield f'{{{prefix}.{member} = {value}}}', False
            every += (', ' if every else '') + f'.{member} = {value}'
            count += 1
        flag = next((name for type_, name in s.members if type_ == 'bool'), None)
        if count == 0 and flag:
            yield f'{{{prefix}.{flag} = true}}', False
        if count > 1:
            yield '{' + every.replace('"s"', 'f.long_text') + '}', True

    # Returns a value of a member that owns memory, or None if the member owns none.
    def value(self, type_, where):
        m = re.fullmatch(r'braced<(.*)>', in_full(type_))
        if m:
            value = sample(m.group(1))
            if not value:
                self.problems.append(f'{where} is a {m.group(1)}: add to SAMPLES in '
                                     'tests/braces/generate.py how one is written')
            return value
        if type_ in self.structs:
            members = [f'.{name} = {value}' for inner, name in self.structs[type_].members
                       if (value := self.value(inner, f'{type_}::{name}'))]
            return '{' + ', '.join(members) + '}' if members else None
        return None

    def awaitable(self, f):
        return re.search(r'task<|await|operation|^auto$|^pipeline<', f.result)

    def cases(self):
        wanted = [f for f in self.functions if self.awaitable(f)
                  and any(self.is_options(t) for t, _ in f.parameters)]
        names = [f.name for f in wanted]
        for f in wanted:
            parameters = [t for t, _ in f.parameters if t != 'std::source_location']
            macro = 'CALL_' + f.name.replace('::', '_')
            if names.count(f.name) > 1:
                macro += f'_{len(parameters)}'
            for type_ in parameters:
                if re.match(r'std::(vector|map|initializer_list)<', type_) and 'task<' in f.result:
                    self.problems.append(f'{f.header}: {f.name}() takes a {type_}, which g++ 12 '
                                         f'refuses in braces: write braced<{type_}>')
            options = [self.is_options(t) for t in parameters if self.is_options(t)]
            choices = [options]
            if 'options_type' in options:
                here = re.findall(r'using options_type = (\w+);',
                                  (self.include / f.header).read_text())
                here = [h for h in here if h in self.structs]
                choices = [[t if o == 'options_type' else o for o in options]
                           for t in (here or self.aliases)]
            scope, _, member = f.name.rpartition('::')
            for chosen in choices:
                called, shared, name = macro, 'CALL_' + scope, member
                if len(choices) > 1:
                    shared, name = macro, chosen[0].removesuffix('_options')
                    called = f'{macro}_{name}'
                self.unused -= {called, shared}
                if called in self.macros:
                    call = called + '('
                elif shared in self.macros:
                    call = f'{shared}({name}, '
                else:
                    self.problems.append(
                        f'{f.header}: {f.name}() takes options and gives something to await: '
                        'add to tests/braces/fixture.hpp how it is called, with the options in '
                        f'__VA_ARGS__:\n    #define {called}(...) leat::{f.name}(__VA_ARGS__)')
                    continue
                yield from self.calls(f.name, call, chosen)
        self.problems += [f'{macro} in tests/braces/fixture.hpp is for no function that is found'
                          for macro in sorted(self.unused)]

    def calls(self, name, call, options):
        first = ['{' + self.needed.get(o, '') + '}' for o in options]
        yield name, f'{call}{", ".join(first)})', True
        for i, option in enumerate(options):
            for form, _ in list(self.forms(option))[1:]:
                arguments = first[:i] + [form] + first[i + 1:]
                yield name, f'{call}{", ".join(arguments)})', False


def main():
    include, fixture, output = map(Path, sys.argv[1:])
    tests = Tests(include, fixture.read_text())
    tests.include = include
    functions, table = [], []
    for i, (name, call, must_succeed) in enumerate(tests.cases()):
        functions.append(f'static leat::task<> case_{i}([[maybe_unused]] leat_braces::fixture& f) {{\n'
                         f'  static_cast<void>(co_await {call});\n}}')
        text = call.replace('\\', '\\\\').replace('"', '\\"')
        table.append(f'    {{"{name}: {text}", &case_{i}, {str(must_succeed).lower()}}},')
    assertions = list(tests.assertions())
    if tests.problems:
        sys.exit('\n'.join(f'tests/braces: {p}' for p in dict.fromkeys(tests.problems)))
    if len(assertions) < 200:
        sys.exit(f'tests/braces: only {len(assertions)} members were found in the headers: '
                 'tests/braces/headers.py does not understand them')
    output.write_text('\n'.join([
        '// Generated by tests/braces/generate.py.', '', '#include "fixture.hpp"', '',
        *assertions, '', *functions, '', 'int main() {',
        '  static constexpr leat_braces::test_case cases[] = {', *table, '  };',
        '  return leat_braces::run(cases);', '}', '']))


if __name__ == '__main__':
    main()
