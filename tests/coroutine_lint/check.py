#!/usr/bin/env python3
"""tools/coroutine_lint.py on samples of each form that g++ 12 miscompiles, on safe forms, and on the tree.

    check.py PROJECT
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(sys.argv.pop(1)).resolve()
SCRIPT = PROJECT / 'tools' / 'coroutine_lint.py'
sys.path.insert(0, str(SCRIPT.parent))
import coroutine_lint as lint  # noqa: E402

TYPES = '''
struct job { std::string name; int size = 0; };
struct numbers { int a; int b; };
struct box { box(std::string n, int s); std::string name; };
struct nested { job inner; };
struct guard { explicit operator bool() const; std::unique_ptr<int> owned; };
task<std::string> load(int n);
task<void> take(job j);
'''

# Statements of a coroutine with the local variables that PARAMETERS declares.
PARAMETERS = 'bool c, std::string x, std::string y, int i, std::vector<job> jobs, leat::mutex& m'
MISCOMPILED = {
    lint.THROW: [
        'throw leat::failure(leat::errc::data_loss, co_await load(1));',
        'if (c) throw std::runtime_error("no " + (co_await load(1)));',
        'throw co_await load(1);',
    ],
    lint.CONDITIONAL: [
        'std::string s = c ? co_await load(1) : co_await load(2);',
        'std::string s = c ? co_await load(1) : std::string("none");',
        'const auto g = c ? co_await m.lock() : leat::mutex::guard();',
        'x = co_await (c ? load(1) : load(2));',
        'x = co_await leat::with_timeout(c ? load(1) : load(2), 1s);',
        'co_await put(c ? std::string("a") : "b");',
        'co_await put(c ? x : std::to_string(i));',
        'co_await put(c ? std::move(x) : y);',
        'use(c ? std::to_string(1) : x, co_await load(1));',
        'x = (co_await ready()) ? load_now() : std::string();',
        'co_await put(i == 1 ? x : i == 2 ? y : std::to_string(i));',
        'for (auto& s : c ? co_await all() : std::vector<std::string>()) use(s);',
        'if (auto s = c ? co_await load(1) : std::string(); s.empty()) use(s);',
        'co_return c ? co_await load(1) : std::string();',
        'co_yield i != 1 ? x : std::string("none");',
    ],
    lint.BRACES: [
        'const job j{co_await load(1), 1};',
        'const job j{.name = x, .size = co_await count(x)};',
        'const job j = {co_await load(1), 1};',
        'job j; j = {co_await load(1), 1};',
        'co_return {co_await load(1), 1};',
        'co_return job{co_await load(1), 1};',
        'jobs.push_back({co_await load(1), 1});',
        'jobs.push_back(job{co_await load(1), 1});',
        'co_await take(job{"a", 1});',
        'co_await take(job{});',
        'co_await take({x, 1});',
        'co_await take({.name = x});',
        'co_await take(nested{{x, 1}});',
        'use(job{x, 1}, co_await load(1));',
        'std::array<std::string, 2> two{co_await load(1), x};',
        'std::string two[] = {co_await load(1), x};',
        'std::vector<std::string> two{co_await load(1), x};',
        'std::map<int, std::string> two{{1, co_await load(1)}, {2, x}};',
        'co_await put_all({x, y});',
        'co_await put_all(std::vector<std::string>{x, y});',
        'co_yield job{x, 1};',
        'co_yield {x, 1};',
    ],
    lint.PARENTHESES: [
        'const job j(co_await load(1), 1);',
        'co_await take(job(x, 1));',
    ],
    lint.NEW: [
        'std::unique_ptr<std::string> p(new std::string(co_await load(1)));',
        'auto* p = new std::vector<int>(co_await sizes());',
    ],
    lint.CAPTURE: [
        'co_await leat::retry([x] { return load(x.size()); });',
        'co_await leat::retry([=] { return load(x.size()); });',
        'co_await leat::retry([&, s = std::move(x)]() mutable { return load(s.size()); });',
        'co_await [x]() -> task<> { co_await put(x); }();',
        'use([x] { return x.size(); }, co_await load(1));',
    ],
    lint.AWAIT_IN_CAPTURE: [
        'const auto size = [s = co_await load(1)] { return s.size(); };',
    ],
    lint.LAMBDA_COROUTINE: [
        'co_await leat::for_each_concurrent(co_await all(), 2, [&](const std::string& s) -> task<> { co_await put(s); });',
    ],
    lint.LOGICAL: [
        'if (c && co_await ready()) use(x);',
        'while (c || co_await ready()) use(x);',
    ],
    lint.RETURN_IN_LOOP: [
        'for (;;) { if (co_await ready()) { use(x); co_return; } else { use(y); } }',
    ],
}
SAFE = [
    'std::string s; if (c) s = co_await load(1); else s = co_await load(2);',
    'const std::string s = co_await load(1); throw leat::failure(leat::errc::data_loss, s);',
    'const std::string s = c ? x : std::to_string(i); co_await put(s);',
    'const int n = c ? co_await count(x) : 0;',
    'co_await put(c ? "a" : "b");',
    'co_await put(c ? x : y);',
    'co_await put(std::string(c ? "a" : "b"));',
    'co_await leat::sleep_for(c ? 5ms : 10ms);',
    'co_await put(c ? i : static_cast<int>(x.size()));',
    'const job j{x, 1}; co_await take(j);',
    'std::string s = co_await load(1); const job j{std::move(s), 1};',
    'co_return {x, 1};',
    'co_await take_box(box(x, 1)); co_await take_box(box{x, 1});',
    'const numbers n{co_await count(x), 2}; co_await add(numbers{1, 2});',
    'const auto p = std::pair(co_await load(1), 1); const std::tuple<std::string, int> t{co_await load(1), 1};',
    'auto reader = co_await leat::line_reader::open(x, {.read = {.chunk_size = 64}});',
    'co_await queue.push_many({1, 2, 3}); co_await leat::match_files({x, y}, {.regular_only = true});',
    'auto p = std::make_unique<std::string>(co_await load(1));',
    'const auto attempt = [x] { return load(x.size()); }; co_await leat::retry(attempt);',
    'co_await leat::retry([&] { return load(x.size()); }); co_await leat::retry([i] { return load(i); });',
    'co_await leat::retry([p = &x] { return load(p->size()); });',
    'co_await leat::for_each_concurrent(jobs, 2, [&](const job& j) -> task<> { co_await take(j); });',
    'co_await put([&] { return c ? std::string("a") : x; }());',
    'if (c) { if (co_await ready()) use(x); }',
    'const bool ok = co_await ready(); if (ok && c) use(x);',
    'if (const auto s = co_await next(); s && s->ok()) use(*s);',
    'for (const auto& [name, size] : jobs) co_await take({});',
    'switch (co_await count(x)) { case 1: jobs.push_back({x, 1}); break; default: use(c ? job{x, 1} : job()); }',
    'use(R"(a string with " and co_await f({x, y}))"); /* co_await f({x, y}) */ co_await put(x);',
]
FUNCTIONS = {
    'task<> f(bool c) { co_await g(); if (co_await ready(c)) use(1); }': lint.NO_VARIABLE,
    'task<> f(bool c) { while (co_await ready(c)) use(1); }': lint.NO_VARIABLE,
    'task<> f(job j = {}) { co_await take(j); }': lint.DEFAULT,
    'task<> f(std::string s, const job& j = job{"a", 1});': lint.DEFAULT,
    'task<> f(bool c) { const bool ok = co_await ready(c); if (ok) use(1); }': None,
    'task<> f(bool c) try { if (co_await ready(c)) use(1); } catch (...) {}': None,
    'void f(bool c) { run([](bool c) -> task<> { if (co_await ready(c)) use(1); }(c)); }': None,
    'task<> f(numbers n = {}, leat::csv_options o = {}) { co_await add(n); }': None,
    'std::string f(bool c, std::string x) { return c ? x : std::string(); }': None,
}


class CoroutineLint(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / 'types.hpp').write_text(TYPES)

    def forms(self, code, name='sample.cpp'):
        """Returns the forms in a program, and checks the line of each."""
        (self.folder / name).write_text('\n\n' + code + '\n')
        found = lint.lint([self.folder])
        self.assertEqual({(path.name, line) for path, line, _ in found}, {(name, 3)} if found else set(), code)
        return {form for _, _, form in found}

    def in_coroutine(self, statement):
        return self.forms(f'task<job> f({PARAMETERS}) {{ int local = 1; use(local); {statement} }}')

    def test_each_form_is_found(self):
        for form, statements in MISCOMPILED.items():
            for statement in statements:
                self.assertIn(form, self.in_coroutine(statement), statement)

    def test_safe_forms_are_not_reported(self):
        for statement in SAFE:
            self.assertEqual(self.in_coroutine(statement), set(), statement)

    def test_functions(self):
        for code, form in FUNCTIONS.items():
            self.assertEqual(self.forms(code), {form} if form else set(), code)

    def test_a_comment_allows_a_form(self):
        self.assertEqual(self.forms('task<> f(int i) { co_await take({x, i}); }  // coroutine_lint: ok'), set())

    def test_the_cpp_blocks_of_a_document_are_read(self):
        self.assertEqual(self.forms('```cpp\n```\n```\nco_await f({x, y});\n```', 'page.md'), set())
        (self.folder / 'page.md').write_text('text co_await f({x, y})\n```cpp\nco_await f({x, y});\n```\n')
        self.assertEqual([line for _, line, _ in lint.lint([self.folder])], [3])

    def test_the_command_prints_forms_and_fails(self):
        sample = self.folder / 'sample.cpp'
        sample.write_text('task<> f(int i) {\n  throw failure(co_await load(i));\n}\n')
        done = subprocess.run([sys.executable, SCRIPT, self.folder], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (1, f'{sample}:2: {lint.THROW}\n'))
        sample.unlink()
        done = subprocess.run([sys.executable, SCRIPT, self.folder], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, ''))

    def test_each_form_is_in_the_documentation(self):
        page = (PROJECT / 'docs' / 'pitfalls.md').read_text().replace('`', '').replace('\\|', '|')
        for name, form in vars(lint).items():
            if isinstance(form, str) and name.isupper() and ': ' in form:
                self.assertIn(form.split(':')[0].split(', of a function')[0], page, name)

    def test_the_tree_has_no_form(self):
        folders = ['README.md', 'benches', 'docs', 'examples', 'include', 'lib', 'tests', 'tools']
        self.assertEqual(lint.lint([PROJECT / folder for folder in folders]), [])


if __name__ == '__main__':
    unittest.main()
