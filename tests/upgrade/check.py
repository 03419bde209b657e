#!/usr/bin/env python3
"""Upgrades an old program with tools/upgrade_names.py and compiles what comes out, with single headers and with those of
the layers; and whether the script leaves alone what it must.

    check.py PROJECT
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(sys.argv.pop(1)).resolve()
HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(PROJECT / 'tests' / 'support'))
from command_blocks import blocks_of  # noqa: E402

SCRIPT = PROJECT / 'tools' / 'upgrade_names.py'
FLAGS = ['-std=c++20', '-fsyntax-only', '-DASIO_STANDALONE', '-DASIO_HAS_CO_AWAIT=1', '-DASIO_HAS_STD_COROUTINE=1',
         f'-I{PROJECT / "include"}']


def run(*arguments):
    return subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True)


class UpgradeNames(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / 'program.cpp'

    def upgrade(self, text, *options):
        self.file.write_bytes(text)
        done = run(*options, self.file)
        return done, self.file.read_bytes()

    def compile_upgraded(self, *options):
        done, _ = self.upgrade((HERE / 'old_program.cpp').read_bytes(), '--write', *options)
        self.assertEqual((done.returncode, done.stdout), (0, ''))
        compiled = subprocess.run([shutil.which('g++') or 'clang++-19', *FLAGS, self.file], capture_output=True, text=True)
        self.assertEqual(compiled.returncode, 0, compiled.stderr)
        done = run('--check', *options, self.file)
        self.assertEqual((done.returncode, done.stdout), (0, ''))

    def test_an_old_program_compiles_when_upgraded(self):
        self.compile_upgraded()

    def test_an_old_program_compiles_with_the_headers_of_layers(self):
        self.compile_upgraded('--facades')
        includes = re.findall(r'#include.leat/(.+)[>"]', self.file.read_text())
        self.assertEqual(len(includes), len(set(includes)))
        self.assertFalse([i for i in includes if '/' in i])

    def test_the_commands_of_the_documents_upgrade_a_folder(self):
        (self.folder / 'tools').symlink_to(PROJECT / 'tools')
        (self.folder / 'src').mkdir()
        file = self.folder / 'src' / 'program.cpp'
        for block in blocks_of(PROJECT, 'tests/upgrade/check.py'):
            file.write_text('#include <leat/core/task.hpp>\n')
            subprocess.run(['sh', '-e', '-c', block.text], cwd=self.folder, check=True, stdout=subprocess.DEVNULL)
            self.assertEqual(file.read_text(), '#include <leat/async.hpp>\n')

    def test_what_is_uncertain_is_printed_and_not_changed(self):
        text = (HERE / 'uncertain.cpp').read_text()
        expected = [n for n, line in enumerate(text.splitlines(), 1) if line.endswith('// look')]
        done, after = self.upgrade(text.encode(), '--write')
        printed = [int(line.split(':')[1]) for line in done.stdout.splitlines()]
        self.assertEqual(sorted(set(printed)), expected, done.stdout)
        self.assertEqual(after.decode(), text.replace('using leat::context', 'using leat::task_context'))

    def test_no_file_is_changed_without_write(self):
        old = b'#include <leat/core/task.hpp>\n'
        done, after = self.upgrade(old)
        self.assertEqual(after, old)
        self.assertIn('+#include <leat/async/task.hpp>', done.stdout)
        done, after = self.upgrade(old, '--check')
        self.assertEqual((after, done.returncode), (old, 1))

    def test_a_file_that_is_not_utf_8_is_left_alone(self):
        old = b'#include <leat/core/task.hpp>  // caf\xe9\n'
        done, after = self.upgrade(old, '--write')
        self.assertEqual(after, old)
        self.assertIn('not UTF-8', done.stdout)

    def test_ends_of_lines_stay_as_they_are(self):
        _, after = self.upgrade(b'#include <leat/core/task.hpp>\r\nleat::context* c;\r\n', '--write')
        self.assertEqual(after, b'#include <leat/async/task.hpp>\r\nleat::task_context* c;\r\n')

    def test_leat_hpp_is_joined_by_the_headers_that_it_no_longer_includes(self):
        _, after = self.upgrade(b'#include <leat/leat.hpp>\nleat::sim::ledger x; leat::queue_list<int>* y;\n', '--write')
        self.assertEqual(after, b'#include <leat/leat.hpp>\n#include <leat/sim.hpp>\n#include <leat/tensorflow.hpp>\n'
                                b'leat::sim::delivery_log x; leat::queue_list<int>* y;\n')

    def test_a_queue_is_joined_by_its_header_of_completion_tokens(self):
        _, after = self.upgrade(b'#include <leat/sync/fifo_queue.hpp>\nvoid f() { q.async_pop(token); }\n', '--write')
        self.assertEqual(after, b'#include <leat/queue/fifo_queue.hpp>\n#include <leat/queue/completion_tokens.hpp>\n'
                                b'void f() { q.async_pop(token); }\n')

    def test_a_program_without_leat_is_left_alone(self):
        old = b'struct partial_push {}; void batch_columns();\n'
        done, after = self.upgrade(old, '--write')
        self.assertEqual((after, done.stdout), (old, ''))


if __name__ == '__main__':
    unittest.main()
