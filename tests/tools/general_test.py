#!/usr/bin/env python3
"""Tests of all commands: help, usage errors, colors, leat doctor, the manual page."""

import gzip
import json
import os
import pathlib
import pty
import re
import subprocess
import unittest

from support import LEAT, ToolTest, main, records_file

MANUAL = pathlib.Path(__file__).resolve().parents[2] / 'tools' / 'leat' / 'leat.1'


class Help(ToolTest):
    def commands(self):
        """Returns the names of all commands, such as 'cat' and 'bench io'."""
        options = json.loads(self.leat('--list-options'))
        names = [o['command'] for o in options if 'command' in o and '--json' in o['names']]
        self.assertLessEqual({'cat', 'convert', 'run', 'bench io'}, set(names))
        return names

    def test_each_command_has_help(self):
        text = self.leat('--help')
        for command in self.commands():
            self.assertIn(f'  {command.split()[0]} ', text)
            self.assertIn('--json', self.leat(*command.split(), '--help'))
        self.assertIn('Exit status', text)
        self.assertRegex(self.leat('--version'), r'^leat \d+\.\d+\.\d+\n$')

    def test_no_line_is_longer_than_a_terminal(self):
        for command in ('', 'bench', *self.commands()):
            for line in self.leat(*command.split(), '--help').splitlines():
                self.assertLessEqual(len(line), 100, line)

    def test_the_manual_describes_every_command(self):  # and manual.py checks the options
        manual = MANUAL.read_text()
        for command in self.commands():
            self.assertRegex(manual, rf'(?m)^\.SS {command}\b')

    def test_every_option_has_a_description_in_the_imperative(self):
        for option in json.loads(self.leat('--list-options')):
            text = option['text'].split('\n\n')[0]
            self.assertRegex(text, r'^[A-Z][a-z]+:? ', option)
            self.assertFalse(text.endswith('.'), option)
            for line in text.split('\n'):
                self.assertLessEqual(len(line), 72, line)
        self.assertNotIn('--list-options', self.leat('--help'))


class Usage(ToolTest):
    def test_usage_errors_name_the_problem_and_the_help(self):
        for arguments, message in [
                ([], 'subcommand is required'),
                (['frob'], 'frob: no such command'),
                (['cat', '--frob'], '--frob'),
                (['cat', '-n', 'x'], 'x'),
                (['count', '-j', '9999', 'a'], '9999'),
                (['cat', '--raw', '--json', 'a'], '--raw'),
                (['cat', ''], "FILE: give a path, not ''"),
                (['report', ''], "LOGDIR: give a path, not ''"),
                (['index', 'a', '-o', ''], "--output: give a path, not ''"),
                (['bench', 'frob'], 'frob: no such command'),
                (['bench', 'io', '--frob', 'a'], '--frob'),
                (['bench', 'io'], 'FILE is required')]:
            self.leat(*arguments, status=2, error=message)
            self.assertRegex(self.errors, r"Try 'leat( \w+)? --help'\.|Try 'leat bench io --help'\.")
            self.assertEqual(len(self.errors.splitlines()), 2, self.errors)

    def test_usage_errors_name_both_sides_and_the_remedy(self):
        self.write('a.tfrecord', records_file('x'))
        self.write('b.tfrecord', records_file('x'))
        self.write('a.txt', b'x\n')
        self.write('a.bin', b'x')
        self.write('a.foo', b'x')
        a, b = 'a.tfrecord', 'b.tfrecord'
        stdout = "--json cannot be combined with output to '-': both use standard output"
        for arguments, message in [
                (['cat', '--raw', '--json', a], '--raw cannot be combined with --example or --json'),
                (['cat', '--records', '1,x', a], "--records: give indices and ranges such as 0,5-9,100, not '1,x'"),
                (['cat', '--records', '5-2', a], "--records: range '5-2' is descending: put the smaller index first"),
                (['index', '-'], 'standard input cannot have an index: give the name of a file'),
                (['index', a, b, '--dali'], '--output and --dali accept one file, not 2'),
                (['index', a, '--dali', '--check'], '--dali cannot be combined with --check or --json'),
                (['convert', 'a.foo', '-o', 'c'], 'a.foo: unknown format: set --from'),
                (['convert', 'a.bin', '-o', 'c'], 'a.bin: fixed records need a size: set --record-size'),
                (['convert', 'a.txt', '-o', 'c.csv'], 'a.txt: lines and fixed records have no columns: csv can be made '
                 'only from csv and from tf.train.Examples'),
                (['convert', 'a.txt', '-o', 'c', '--no-header'], '--no-header applies only to csv output'),
                (['convert', 'a.txt', '-o', 'c.gz', '--index'], '--index applies only to uncompressed TFRecord files'),
                (['convert', 'a.txt', '-o', 'c.txt', '--shards', 2], '--shards, --max-records and --max-bytes apply '
                 'only to TFRecord files, not to other formats or standard output'),
                (['convert', 'a.txt', '-o', '-', '--json'], stdout),
                (['convert', a, '-o', 'c.csv', '--delimiter', '"'], '--delimiter: give one character other than a '
                 'quote or a newline, or \'tab\', not \'"\''),
                (['repair', a], 'give either --output PATH or --in-place'),
                (['repair', a, '-o', '-', '--json'], stdout),
                (['repair', '-', '--in-place'], '--in-place cannot replace standard input: use --output'),
                (['repair', a, b, '--in-place'], 'repair accepts one file, not 2'),
                (['repair', a, '--roll-back', '--in-place'],
                 '--roll-back requires a FILE and cannot be combined with --output or --in-place'),
                (['checkpoints'], 'DIR is required: leat checkpoints DIR'),
                (['checkpoints', '.', '--show', a], '--show cannot be combined with DIR or --prune'),
                (['checkpoints', '.', '--prune-preserved'], '--prune-preserved requires --prune KEEP'),
                (['cat', '--max-held', 'x', a], '--max-held: give a whole number of bytes, or with a unit, as in '
                 "16MiB, not 'x'")]:
            with self.subTest(message):
                self.leat(*arguments, status=2)
                self.assertEqual(self.errors.splitlines()[0], f'leat: {message}')

    def test_data_errors_name_the_file_and_the_remedy(self):
        self.write('text', b'no records')
        self.write('a', records_file('x'))
        os.mkdir(self.folder / 'dir')
        for arguments, status, message in [
                (['cat', '--records', 3, 'a'], 1, 'a: record 3 is out of range: the file has 1 record'),
                (['cat', '--example', 'a'], 1, 'a, record 0 at offset 0 is not a tf.train.Example'),
                (['repair', 'text', '-o', 'b'], 1, 'text: no intact record found: output not written'),
                (['convert', 'a', '--from', 'tfrecord', '--to', 'lines', '-o', 'dir'], 1,
                 'dir: not a regular file: choose another output path'),
                (['checkpoints', 'dir'], 3, 'dir: no checkpoints found'),
                (['checkpoints', 'none'], 3, 'none: not a directory'),
                (['report', 'dir'], 3, "dir: no event file found in it or below: the name of an event file "
                 "contains 'tfevents'")]:
            with self.subTest(message):
                self.leat(*arguments, status=status)
                self.assertIn(f'leat: {message}', self.errors)

    def test_control_characters_in_names_are_escaped(self):
        name, shown = 'a\x1b[31m\n\\', r'a\x1b[31m\n' + '\\'
        self.write(name, records_file('x'))
        self.assertEqual(self.leat('count', name).split(), ['1', shown])
        for command in (['verify'], ['stat'], ['cat', '-k'], ['index'], ['index', '--check'],
                        ['convert', '--from', 'tfrecord', '-o', name + '2'], ['repair', '-o', name + '3']):
            text = self.leat(*command, name)
            self.assertIn(shown, text)
            self.assertNotIn('\x1b', text)
        self.leat('cat', name + 'none', status=3, error=shown + 'none: no file matches this pattern')
        self.assertEqual(self.leat('cat', '-k', '--raw', name), name + ':0\tx\n')
        [line] = self.leat_json('verify', name)
        self.assertEqual(line['path'], name)

    def test_standard_input_has_one_name(self):
        self.leat('cat', '-', input=b'abc', status=1)
        self.assertTrue(self.errors.startswith('leat: -, record 0 at offset 0: '), self.errors)
        [line] = self.leat_json('cat', '-', input=b'abc', status=1)
        self.assertTrue(line['error']['message'].startswith('-, record 0 '), line)

    def test_an_unsuitable_output_path_is_not_a_usage_error(self):
        self.write('a', records_file('x', 'y'))
        self.write('a.txt', b'x\n')
        os.mkdir(self.folder / 'dir')
        os.mkfifo(self.folder / 'pipe')
        for arguments in (['repair', 'a', '-o', 'dir'], ['repair', 'a', '-o', 'pipe'],
                          ['convert', 'a.txt', '-o', 'pipe'], ['index', 'a', '-o', 'dir'],
                          ['convert', 'a', '--from', 'tfrecord', '--to', 'lines', '-o', 'pipe']):
            self.leat(*arguments, status=1)
            self.assertNotIn('--help', self.errors)
        self.assertEqual(self.files(), ['a', 'a.txt', 'dir', 'pipe'])
        self.assertTrue((self.folder / 'pipe').is_fifo())

    def test_general_options_are_accepted_before_and_after_the_command(self):
        self.write('a', records_file('x', 'y'))
        text = self.leat('count', '--json', 'a')
        self.assertIn('"records":2', text)
        self.assertEqual(self.leat('--json', 'count', 'a'), text)
        self.assertEqual(self.leat('--json', '-q', 'count', 'a', '--json'), text)
        self.assertEqual(self.leat('-j', 1, '--color', 'always', 'count', 'a'),
                         self.leat('count', 'a', '-j', 1, '--color', 'always'))

    def test_values_that_no_reader_accepts(self):
        self.write('a.txt', b'x\n')
        for options in (['--max-record-size', 0], ['--skip-lines', 2 ** 64 - 1],
                        ['--from', 'fixed', '--record-size', 4, '--header-size', 2 ** 64 - 1]):
            self.leat('convert', 'a.txt', '-o', 'b.tfrecord', *options, status=2)
        self.assertIn('--header-size is 18446744073709551615, must be 0 to', self.errors)
        self.leat('cat', '--max-record-size', 0, 'a.txt', status=2)

    def test_options_for_unused_formats_are_rejected(self):
        self.write('a.txt', b'x\n')
        for option, value in [('--record-size', 4), ('--header-size', 1), ('--footer-size', 1),
                              ('--columns', 'a'), ('--delimiter', ';'), ('--level', 3)]:
            self.leat('convert', 'a.txt', '-o', 'b.tfrecord', option, value, status=2)
            self.assertIn(f'leat: {option} applies only to ', self.errors)
        self.write('a.tfrecord', records_file('x'))
        self.leat('convert', 'a.tfrecord', '-o', 'b.txt', '--skip-lines', 1, status=2)
        self.assertIn('--skip-lines applies only to lines or csv', self.errors)
        self.assertEqual(self.files(), ['a.tfrecord', 'a.txt'])

    def test_numbers_are_checked(self):
        path = self.write('a', records_file(*map(str, range(12))))
        for option, value in [
                ('--max-count', -1), ('--max-count', '0x1'), ('--max-count', 2 ** 64),
                ('--from', -1), ('--values', '1.5'), ('--max-ratio', 0), ('--max-ratio', -1),
                ('--max-held', -1), ('--max-held', '-1KiB'), ('--max-held', '1.5MiB'),
                ('--max-held', 'KiB'), ('--max-held', 2 ** 64), ('--max-record-size', 0)]:
            self.leat('cat', option, value, path, status=2)
            self.assertRegex(self.errors, rf"^leat: {option}: give a whole number .*not '{value}'\n")
        self.leat('verify', '--list', -1, path, status=2)
        self.leat('bench', 'io', '--seconds', 0, path, status=2)
        self.assertIn('--seconds: Value 0 not in range 0.001000 to 86400.000000\n', self.errors)
        self.leat('bench', 'io', '--seconds', 'nan', path, status=2)
        self.leat('cat', '--max-held', '16777216TiB', path, status=2)
        self.assertEqual(len(self.leat('cat', '-n', '010', path).splitlines()), 10)
        self.assertEqual(len(self.leat('cat', '--max-held', '4 KiB', path).splitlines()), 12)

    def test_a_closed_standard_input_is_an_error(self):
        for command in (['cat'], ['verify', '-'], ['count'], ['run', '-'],
                        ['convert', '--from', 'lines', '-o', 'a']):
            self.leat(*command, status=3, preexec_fn=lambda: os.close(0))
            self.assertEqual(self.errors,
                             'leat: standard input: cannot read: Bad file descriptor\n')
        self.assertEqual(os.listdir(self.folder), [])

    def test_an_invalid_choice_lists_the_valid_ones(self):
        for wrong in ('sometimes', '1'):
            self.leat('doctor', '--color', wrong, status=2)
            self.assertIn(f'leat: --color: {wrong} not in {{always,auto,never}}\n', self.errors)

    def test_io_and_the_environment_select_the_backend(self):
        path = self.write('a', records_file('x'))
        self.assertEqual(self.leat('--io', 'threads', 'cat', path), 'x\n')
        self.assertEqual(self.leat('cat', '--io', 'threads', path), 'x\n')
        self.leat('--io', 'magic', 'cat', path, status=2)
        self.leat('cat', path, status=2, env={**os.environ, 'LEAT_IO': 'magic'})
        self.assertIn('LEAT_IO=magic: use uring or threads', self.errors)


class TerminalTest(ToolTest):
    def on_terminal(self, *arguments, errors=False, silent=False, **environment):
        """Returns the output of the command on a terminal, or its errors. Its input ends after it
        has printed something, or at once if `silent`."""
        ours, its = pty.openpty()
        to = {'stdout': its, 'stderr': subprocess.DEVNULL}
        if errors:
            to = {'stdout': subprocess.DEVNULL, 'stderr': its}
        done = subprocess.Popen([LEAT, *arguments], stdin=subprocess.PIPE, cwd=self.folder, **to,
                                env={**os.environ, 'TERM': 'xterm', **environment})
        os.close(its)
        if silent:
            done.stdin.close()
        text = b''
        try:
            while part := os.read(ours, 4096):
                text += part
                done.stdin.close()  # after it has printed something
        except OSError:  # the other end is closed
            pass
        os.close(ours)
        done.stdin.close()
        self.status = done.wait(30)
        return text


class Colors(TerminalTest):
    def test_colors_need_a_terminal_and_respect_no_color(self):
        self.write('a', records_file('x'))
        self.assertIn(b'\x1b[32mok', self.on_terminal('verify', 'a'))
        self.assertNotIn(b'\x1b', self.on_terminal('verify', 'a', NO_COLOR='1'))
        self.assertNotIn(b'\x1b', self.on_terminal('verify', 'a', TERM='dumb'))
        self.assertNotIn(b'\x1b', self.on_terminal('verify', 'a', '--color', 'never'))
        self.assertNotIn('\x1b', self.leat('verify', 'a'))
        self.assertIn('\x1b[32mok', self.leat('verify', 'a', '--color', 'always'))

    def test_progress_needs_a_terminal(self):
        self.write('a', records_file('x'))
        self.leat('verify', 'a')
        self.assertEqual(self.errors, '')
        text = self.on_terminal('verify', '-', errors=True)
        self.assertTrue(text.startswith(b'\r\x1b[Kverify: 0 bytes, 0 bytes/s'), text)
        self.assertTrue(text.endswith(b'\r\x1b[K'), text)

    def test_progress_shows_the_remaining_time(self):
        self.write('a', records_file(*[b'x' * 1000] * 5000))
        self.write('a.gz', gzip.compress(records_file(*[b'x' * 1000] * 5000)))
        for name, pattern in (('a', rb'convert: .* of 4\.8 MiB, \d+ %, [^,]*/s, \d+ .*s left'),
                              ('a.gz', rb'convert: [^,]*, [^,]*/s\r')):
            ours, its = pty.openpty()
            done = subprocess.Popen([LEAT, 'convert', '--from', 'tfrecord', name, '-o', '-'],
                                    stdout=subprocess.PIPE, stderr=its, cwd=self.folder)
            os.close(its)
            done.stdout.read(1 << 20)  # and the rest has to wait, so that something is left
            text = b''
            while not re.search(pattern, text) or text.count(b'convert:') < 8:
                text += os.read(ours, 4096)
            done.stdout.read()
            self.assertEqual(done.wait(30), 0)
            done.stdout.close()
            os.close(ours)
            self.assertRegex(text, pattern)


@unittest.skipUnless('THREAD_SHIM' in os.environ, 'no library that refuses to start threads')
class Threads(TerminalTest):
    def without_thread(self, number):
        return {'LD_PRELOAD': os.environ['THREAD_SHIM'], 'LEAT_REFUSED_THREAD': str(number)}

    def test_a_missing_progress_thread_does_not_stop_the_command(self):
        text = self.on_terminal('verify', '-', errors=True, silent=True, **self.without_thread(1))
        self.assertEqual((text, self.status), (b'', 0))

    def test_the_error_names_the_thread_that_cannot_start(self):
        self.write('a', records_file('x'))
        for number, thread in enumerate(['runtime: thread 1 of 1',
                                         'the thread that waits for signals'], 1):
            self.leat('verify', 'a', '-j1', status=3,
                      env={**os.environ, **self.without_thread(number)})
            self.assertIn(f'{thread} cannot be started: raise the limit on threads', self.errors)


class Doctor(ToolTest):
    def test_all_checks_are_printed(self):
        text = self.leat('doctor')
        for name in ('kernel', 'io_uring', 'open files', 'locked memory', 'container',
                     'memory pages', 'working directory', 'processor'):
            self.assertIn(name, text)

    def test_json(self):
        [answer] = self.leat_json('doctor')
        checks = {c['name']: c for c in answer['checks']}
        self.assertIn(checks['io_uring']['details']['backend'], ('io_uring', 'threads'))
        self.assertGreaterEqual(checks['processor']['details']['count'], 1)
        for check in checks.values():
            self.assertIn(check['state'], ('ok', 'note', 'problem'))
            if check['state'] != 'ok':
                self.assertTrue(check['advice'])

    def test_a_note_has_advice(self):
        text = self.leat('doctor', '--io', 'threads')
        self.assertRegex(text, r'note +io_uring')
        self.assertIn('-> ', text)
        self.leat('doctor', status=1, env={**os.environ, 'LEAT_IO': 'magic'})
        self.assertIn('LEAT_IO=magic', self.raw.decode())

    def test_few_descriptors(self):
        done = subprocess.run(['sh', '-c', 'ulimit -n 64; "$0" doctor', LEAT], capture_output=True,
                              text=True, timeout=60)
        self.assertRegex(done.stdout, r'note +open files +at most 64')
        self.assertIn('ulimit -n', done.stdout)


main()
