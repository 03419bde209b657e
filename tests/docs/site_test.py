#!/usr/bin/env python3
"""Tests of tools/docs: headers and pages are converted for Doxygen, and broken links are found."""

import pathlib
import sys
import tempfile
import unittest

root = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(root / 'tools' / 'docs'))

import finish  # noqa: E402
import header_filter  # noqa: E402
import navigation  # noqa: E402
import pages as markdown  # noqa: E402

HEADER = '''#pragma once

LEAT_LOCAL_TYPES_BEGIN

namespace leat {

namespace detail {
class hidden {};
}  // namespace detail

/// Holds a value.
///
///     holder h(1);
///
/// Thread safety: none. Errors are not
///                thrown.
/// Errors: cancelled.
class holder : public detail::hidden, public base {
 public:
  explicit holder(int value);
  ~holder();

  // ---- Access.

  /// Returns the value.
  [[nodiscard]] int value() const;
  [[nodiscard]] int value(int other) const;

  friend bool operator==(const holder&, const holder&) = default;

 protected:
  int stored_;
};

}  // namespace leat
'''


class Headers(unittest.TestCase):
    def setUp(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / 'holder.hpp'
            path.write_text(HEADER)
            self.text = header_filter.filtered(path)

    def test_labels_become_paragraphs(self):
        self.assertIn('/// @par Thread safety\n/// None. Errors are not\n/// thrown.\n', self.text)
        self.assertIn('/// @par Errors\n/// cancelled.\n', self.text)

    def test_indented_text_becomes_code(self):
        self.assertIn('/// @code{.cpp}\n/// holder h(1);\n/// @endcode', self.text)

    def test_a_comment_serves_all_overloads(self):
        self.assertEqual(self.text.count('/// Returns the value.'), 2)

    def test_self_explanatory_members_get_a_comment(self):
        self.assertIn('/// Constructor.\n  explicit holder', self.text)
        self.assertIn('/// Destructor.\n  ~holder', self.text)

    def test_private_parts_are_left_out(self):
        for name in ('detail', 'hidden', 'friend', 'protected:'):
            self.assertNotIn(name, self.text)
        self.assertIn('class holder : public base {', self.text)

    def test_a_section_becomes_a_group(self):
        self.assertIn('/// @name Access\n  /// @{', self.text)
        self.assertEqual(self.text.count('/// @}'), 1)


class Markdown(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        (self.root / 'docs').mkdir()
        (self.root / 'lib').mkdir()
        (self.root / 'lib' / 'x.cpp').write_text('int x;')
        for name in markdown.TOP:
            (self.root / name).write_text(f'# {name}\n')
        (self.root / 'docs' / 'README.md').write_text(
            '# Index\n\n## Tutorial\n\n[a](a.md)\n\n## Reference\n\n### Part\n\n[a](a.md) [b](b.md)\n')
        (self.root / 'docs' / 'b.md').write_text('# B\n')

    def tearDown(self):
        self.folder.cleanup()

    def convert(self, text):
        (self.root / 'docs' / 'a.md').write_text(text)
        self.pages = markdown.Pages(self.root)
        return self.pages.convert(pathlib.Path('docs/a.md'))

    def test_headings_get_the_anchors_of_github(self):
        self.assertEqual(self.convert('# A `x`\n\n## What `b()` is, now\n'),
                         '# A x {#a}\n\n## What b() is, now {#a_what-b-is-now}\n')

    def test_later_anchors_of_one_heading_are_numbered(self):
        self.assertIn('## B {#a_b}\n\n### B {#a_b-1}', self.convert('# A\n\n## B\n\n### B\n'))

    def test_links_lead_to_pages_sections_sources_and_headers(self):
        text = self.convert('# A\n[b](b.md#two-words) [c](#here) [d](../lib/x.cpp) [e](https://x.org/y.md)\n'
                            '[f](../include/leat/queue/fifo_queue.hpp)')
        for address in ('b.html#b_two-words', 'a.html#a_here', 'source_lib_x.cpp.html', 'https://x.org/y.md',
                        'fifo__queue_8hpp.html'):
            self.assertIn(f'<a href="{address}">', text)
        self.assertEqual(self.pages.sources, {pathlib.Path('lib/x.cpp')})

    def test_code_is_not_changed(self):
        text = self.convert('# A\n```cpp\n# no heading [x](b.md)\n```\n`[x](b.md)` and `it\'s`\n')
        self.assertIn('# no heading [x](b.md)\n', text)
        self.assertIn("``it's``", text)

    def test_a_long_page_has_a_table_of_contents(self):
        self.assertNotIn('[TOC]', self.convert('# A\n\n## B\n'))
        self.assertIn('# A {#a}\n\n[TOC]\n', self.convert('# A\n' + '\n## B\n' * markdown.LONG))

    def test_the_navigation_lists_each_page_once(self):
        self.convert('# A\n')
        menu = navigation.render(self.pages, lambda path: path.name)
        self.assertEqual(menu.count('"a.html"'), 1)
        self.assertEqual(menu.count('"b.html"'), 1)
        self.assertIn('"annotated.html"', menu)
        self.assertIn('<p>Part</p>', menu)


class Finished(unittest.TestCase):
    def page(self, text):
        return finish.Page(f'<html><head><title>T · leat</title></head><main>{text}</main></html>')

    def test_broken_links_are_found(self):
        pages = {'a.html': self.page('<a href="b.html#x">1</a> <a href="c.html">2</a> <a href="b.html#y">3</a>'
                                     '<a href="https://x.org">4</a>'),
                 'b.html': self.page('<h2 id="x">X</h2>')}
        self.assertEqual(finish.broken_links(pages, {'a.html', 'b.html'}),
                         ['a.html: b.html#y: no such section', 'a.html: c.html: no such page'])

    def test_sections_are_indexed_with_their_text(self):
        index = finish.search_index({'a.html': self.page('one <h2><a id="s"></a>Two</h2><p>three</p>')})
        self.assertIn('["a.html","T","","one"]', index)
        self.assertIn('["a.html#s","T","Two","three"]', index)

    def test_names_in_code_become_links(self):
        known = {'task': 'task.html', 'queue::pop': 'queue.html#p'}
        text = '<code>task&lt;&gt;</code> <code>queue::pop()</code> <code>other</code> <a href="x"><code>task</code></a>'
        self.assertEqual(finish.link_names(text, known, 'a.html'),
                         '<a href="task.html"><code>task&lt;&gt;</code></a> '
                         '<a href="queue.html#p"><code>queue::pop()</code></a> <code>other</code> '
                         '<a href="x"><code>task</code></a>')

    def test_a_moved_page_leads_to_its_successor(self):
        self.assertIn('url=queues.html#x"', finish.redirect('queues.html#x'))

    def test_successors_exist(self):
        for line in (root / 'tools' / 'docs' / 'moved.txt').read_text().split('\n'):
            if line and not line.startswith('#'):
                old, new = line.split()
                names = set(markdown.Pages(root).known.values())
                self.assertIn(new.partition('#')[0].removesuffix('.html'), names)
                self.assertNotIn(old, names)


if __name__ == '__main__':
    unittest.main()
