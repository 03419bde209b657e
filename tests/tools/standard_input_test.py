#!/usr/bin/env python3
"""leat with an inherited standard input: its offset, sockets, and input that arrives late."""

import gzip
import os
import pty
import select
import socket
import subprocess
import threading
import zlib

from support import LEAT, ToolTest, example, framed, main, records_file

PRINT = b'[source]\nformat = "lines"\nfiles = ["-"]\n[output]\nkind = "print"\n'


class Inherited(ToolTest):
    def open_at(self, offset, name):
        """Opens a file at an offset, for the standard input of a command."""
        file = open(self.folder / name, 'rb', buffering=0)
        self.addCleanup(file.close)
        file.seek(offset)
        return file

    def test_each_command_reads_from_the_current_offset(self):
        self.write('print.toml', PRINT)
        content = b'header\n' + records_file('x', 'y')
        self.write('a', content)
        lines = ['--from', 'lines', '--to', 'lines', '-o', '-']
        for arguments, expected in ((['cat', '-'], 'x\ny\n'), (['head', '-'], 'x\ny\n'),
                                    (['count', '-'], '           2 -\n'),
                                    (['convert', '-', '--from', 'tfrecord', '--to', 'lines', '-o',
                                      '-'], 'x\ny\n'),
                                    (['repair', '-', '-o', 'fixed'], None), (['verify', '-'], None),
                                    (['stat', '-'], None)):
            file = self.open_at(7, 'a')
            text = self.leat(*arguments, stdin=file)
            self.assertEqual(file.tell(), len(content), arguments)  # for the next command
            if expected:
                self.assertEqual(text, expected)
        self.write('b', b'header\none\ntwo\n')
        for arguments in (['convert', '-', *lines], ['run', 'print.toml', '-q']):
            self.assertEqual(self.leat(*arguments, stdin=self.open_at(7, 'b')), 'one\ntwo\n')

    def test_a_shell_reads_the_first_line(self):
        self.write('a', b'header\none\ntwo\n')
        shell = 'read line; "$0" convert --from lines - --to lines -o - && cat'
        done = subprocess.run(['sh', '-c', shell, LEAT], stdin=self.open_at(0, 'a'),
                              capture_output=True, timeout=60)
        self.assertEqual((done.stdout, done.stderr), (b'one\ntwo\n', b''))

    def test_a_socket(self):
        content = records_file('x', 'y')
        for arguments, expected in ((['cat', '-'], 'x\ny\n'), (['count'], '           2 -\n')):
            ours, its = socket.socketpair()
            with ours, its:
                ours.sendall(content)
                ours.shutdown(socket.SHUT_WR)
                self.assertEqual(self.leat(*arguments, stdin=its), expected)

    def test_a_nonblocking_pipe(self):
        content = records_file(*(f'record {i}' for i in range(20_000)))
        reading, writing = os.pipe()
        os.set_blocking(reading, False)

        def write_slowly():
            with open(writing, 'wb', buffering=0) as pipe:
                for at in range(0, len(content), 100_000):
                    pipe.write(content[at:at + 100_000])
        writer = threading.Thread(target=write_slowly)
        writer.start()
        text = self.leat('count', '-', stdin=reading)
        writer.join()
        self.assertEqual((text.split(), os.get_blocking(reading)), (['20000', '-'], False))
        os.close(reading)

    def test_what_needs_to_read_twice_is_refused(self):
        self.write('a', records_file('x', 'y'))
        self.leat('cat', '--records', '1', '-', stdin=self.open_at(0, 'a'), status=1, error='leat: -: ')
        self.write('p.toml', PRINT.replace(b'files', b'num_epochs = 2\nfiles'))
        self.leat('run', 'p.toml', stdin=self.open_at(0, 'a'), status=2)
        self.assertIn('p.toml:3:14: [source] of format \'lines\': num_epochs: give 1: standard input '
                      'can be read only once', self.errors)
        self.write('t.csv', b'a,b\n1,2\n')
        self.write('p.toml', b'[source]\nformat = "lines"\nfiles = ["-"]\nskip_header_lines = 1\n'
                   b'[[stage]]\nkind = "batch"\nsize = 2\n[[stage]]\nkind = "parse_csv"\n'
                   b'header = true\ncolumns = [{ name = "a", dtype = "int64" }]\n')
        self.leat('run', 'p.toml', stdin=self.open_at(0, 't.csv'), status=2)
        self.assertIn("-: file can be read only once: give the header line", self.errors)

    def test_a_declaration_and_its_input_are_not_both_standard_input(self):
        self.write('a', b'x\n')
        declared = PRINT.replace(b'"-"', b'"a"')
        for text, arguments in ((PRINT, []), (declared, ['-']), (declared, ['a', '-', '--check']),
                                (PRINT, ['--count'])):
            self.leat('run', '-', *arguments, input=text, status=2)
            self.assertIn('leat: -: standard input is both the declaration and a file of its source: pass '
                          'the declaration as a file\n', self.errors)
        self.assertEqual(self.leat('run', '-', input=declared), 'x\n')
        self.assertEqual(self.leat('run', '-', 'a', input=PRINT), 'x\n')


class Live(ToolTest):
    """The output must contain each piece of the input before the next piece is written."""

    def setUp(self):
        super().setUp()
        self.write('print.toml', PRINT)
        self.write('copy.toml', b'[source]\nformat = "lines"\nfiles = ["-"]\n')

    def follow(self, output, arguments, pieces, words):
        ours, its = output()
        command = subprocess.Popen([LEAT, *arguments], stdin=subprocess.PIPE, stdout=its,
                                   stderr=subprocess.PIPE, cwd=self.folder)
        for piece, word in zip(pieces, words):
            command.stdin.write(piece)
            command.stdin.flush()
            text = b''
            while word not in text and select.select([ours], [], [], 30)[0]:
                text += os.read(ours, 65536)
            self.assertIn(word, text, arguments)
        command.stdin.close()
        os.close(its)
        self.assertEqual((command.stderr.read(), command.wait(30)), (b'', 0))
        command.stderr.close()
        os.close(ours)

    def follow_compressed(self, output, arguments, pieces, words):
        self.follow(output, arguments, pieces, words)
        for wbits in (15, 31):  # zlib and gzip
            deflate = zlib.compressobj(6, zlib.DEFLATED, wbits)
            flushed = [deflate.compress(p) + deflate.flush(zlib.Z_SYNC_FLUSH) for p in pieces[:-1]]
            last = deflate.compress(pieces[-1]) + deflate.flush()
            self.follow(output, arguments, [*flushed, last], words)

    def test_convert_shows_what_has_arrived(self):
        lines = [b'first\n', b'second\n']
        rows = [b'a,b\nfirst,1\n', b'second,2\n']
        frames = [framed(example(a=[b'first'])), framed(example(a=[b'second']))]
        for output in (pty.openpty, os.pipe):
            for arguments, pieces in ((['--from', 'lines', '--to', 'lines'], lines),
                                      (['--from', 'csv', '--to', 'tfrecord'], rows),
                                      (['--from', 'tfrecord', '--to', 'csv'], frames)):
                self.follow_compressed(output, ['convert', '-', '-o', '-', *arguments], pieces,
                                       [b'first', b'second'])

    def test_cat_shows_what_has_arrived(self):
        frames = [framed(b'first'), framed(b'second')]
        for output in (pty.openpty, os.pipe):
            for arguments in (['cat'], ['cat', '--json'], ['head', '-n', '3']):
                self.follow_compressed(output, arguments, frames, [b'first', b'second'])

    def test_run_shows_what_has_arrived_on_a_terminal(self):
        lines = [b'first\n', b'second\n']
        for arguments in (['print.toml'], ['print.toml', '--json'], ['copy.toml', '-o', '-']):
            self.follow_compressed(pty.openpty, ['run', '-q', *arguments], lines,
                                   [b'first', b'second'])

    def test_compressed_output_does_not_depend_on_the_times_of_the_input(self):
        command = subprocess.Popen([LEAT, 'convert', '--from', 'lines', '-', '--to', 'lines',
                                    '--to-compression', 'gzip', '-o', '-'], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
        for i in range(100):
            command.stdin.write(b'line %d\n' % i)
            command.stdin.flush()
        command.stdin.close()
        content = command.stdout.read()
        self.assertEqual(command.wait(30), 0)
        command.stdout.close()
        text = b''.join(b'line %d\n' % i for i in range(100))
        self.assertEqual(gzip.decompress(content), text)
        self.leat('convert', '--from', 'lines', '-', '--to', 'lines', '--to-compression', 'gzip',
                  '-o', '-', input=text)
        self.assertEqual(content, self.raw)


main()
