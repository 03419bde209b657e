#!/usr/bin/env python3
"""leat cat and leat head."""

import base64
import fcntl
import gzip
import os
import pathlib
import resource
import select
import signal
import struct
import subprocess
import termios
import time
import zlib

from support import (LEAT, ToolTest, example, feature, field, framed, main, records_file,
                     sequence_example, varint)


class Cat(ToolTest):
    def test_prints_one_record_a_line(self):
        path = self.write('a', records_file('one', '', 'three'))
        self.assertEqual(self.leat('cat', path), 'one\n\nthree\n')
        self.assertEqual(self.errors, '')

    def test_control_characters_are_escaped(self):
        path = self.write('a', records_file(b'a\x1b[31m\n\t\\\xff\xc3\xa9\xc2\x9b'))
        self.assertEqual(self.leat('cat', path), 'a\\x1b[31m\\n\\t\\\\\\xffé\\xc2\\x9b\n')

    def test_raw_null_and_keys(self):
        path = self.write('a', records_file(b'\xff\x00', 'x'))
        self.leat('cat', '--raw', path)
        self.assertEqual(self.raw, b'\xff\x00\nx\n')
        self.leat('cat', '--raw', '-0', path)
        self.assertEqual(self.raw, b'\xff\x00\0x\0')
        self.assertEqual(self.leat('cat', '-k', path), f'{path}:0\t\\xff\\x00\n{path}:18\tx\n')

    def test_several_files_patterns_and_standard_input(self):
        self.write('a1.tfrecord', records_file('a'))
        self.write('a2.tfrecord', records_file('b'))
        self.assertEqual(self.leat('cat', 'a1.tfrecord', 'a2.tfrecord'), 'a\nb\n')
        self.assertEqual(self.leat('cat', 'a*.tfrecord'), 'a\nb\n')
        self.assertEqual(self.leat('cat', '-', input=records_file('c')), 'c\n')
        self.assertEqual(self.leat('cat', input=records_file('c')), 'c\n')
        self.leat('cat', 'none*', status=3, error='none*: no file matches this pattern')

    def test_patterns_skip_index_files(self):
        for name in 'a1', 'a2':
            self.write(name, records_file(name))
            self.leat('index', name)
        for files in ['a*'], ['a1', 'a1.index', 'a2', 'a2.index']:  # the second as expanded by a shell
            self.assertEqual(self.leat('cat', *files), 'a1\na2\n')
        self.leat('cat', 'a1.index', status=1)
        self.assertEqual(self.leat('cat', 'a1', 'b', 'b.index', status=3), 'a1\n')

    def test_compression_is_detected(self):
        plain = records_file(*(f'record {i}' for i in range(1000)))
        expected = ''.join(f'record {i}\n' for i in range(1000))
        for name, content in (('z', zlib.compress(plain)), ('g', gzip.compress(plain))):
            self.assertEqual(self.leat('cat', self.write(name, content)), expected)
            self.assertEqual(self.leat('cat', input=content), expected)
        self.leat('cat', '--compression', 'none', 'g', status=1, error='or not a TFRecord file')

    def test_counts_and_indices_select_records(self):
        path = self.write('a', records_file(*map(str, range(20))))
        self.assertEqual(self.leat('cat', '-n', 2, path), '0\n1\n')
        self.assertEqual(self.leat('cat', '-n', 0, path), '')
        self.assertEqual(self.leat('cat', '--from', 18, path), '18\n19\n')
        self.assertEqual(self.leat('cat', '--from', 5, '-n', 1, path), '5\n')
        self.assertEqual(self.leat('cat', '--records', '19,0-2,7', path), '19\n0\n1\n2\n7\n')
        self.leat('index', path)
        index = pathlib.Path(path + '.index')
        whole = index.read_bytes()
        for damaged in (os.urandom(3072), whole[:70], whole[:8] + b'\7' + whole[9:], b'0 17\n'):
            index.write_bytes(damaged)
            self.assertEqual(self.leat('cat', '--records', '19', path), '19\n')
            self.assertEqual(index.read_bytes(), damaged)
        index.unlink()
        os.mkfifo(index)
        self.assertEqual(self.leat('cat', '--records', '19', path), '19\n')
        index.unlink()
        self.assertFalse(os.path.exists(path + '.index'))
        self.leat('cat', '--records', '3,20', path, status=1)
        self.assertIn('record 20 is out of range: the file has 20 records', self.errors)
        for wrong in ('x', '3-', '5-2', '1,,2'):
            self.leat('cat', '--records', wrong, path, status=2, error=wrong)

    def test_records_excludes_from_and_max_count(self):
        path = self.write('a', records_file('x', 'y'))
        for other in ('--from', '--max-count'):
            self.leat('cat', '--records', 0, other, 1, path, status=2, error=f'{other} excludes --records')

    def test_json(self):
        path = self.write('a', records_file('text', b'\xff\x00'))
        self.assertEqual(self.leat_json('cat', path), [
            {'path': path, 'index': 0, 'offset': 0, 'size': 4, 'text': 'text'},
            {'path': path, 'index': 1, 'offset': 20, 'size': 2, 'base64': '/wA='}])
        sizes = [b'\x80' * n for n in range(10)]
        path = self.write('b', records_file(*sizes))
        got = [base64.b64decode(r.get('base64', '')) for r in self.leat_json('cat', path)]
        self.assertEqual(got, sizes)

    def test_a_huge_record(self):
        record = b'0123456789abcdef' * (1 << 16)
        path = self.write('a', framed(record) + framed(b'small'))
        self.leat('cat', '--raw', path)
        self.assertEqual(self.raw, record + b'\nsmall\n')
        self.leat('cat', '--max-record-size', '1023KiB', path, status=1, error='above the limit')
        self.assertEqual(self.leat('cat', '--max-record-size', '1023KiB', '--on-damage', 'skip', path,
                                   status=1), 'small\n')


class Damage(ToolTest):
    def setUp(self):
        super().setUp()
        whole = bytearray(records_file(*(f'record {i}' for i in range(10))))
        whole[24 * 2 + 14] ^= 1  # in the payload of the third
        whole[24 * 5] ^= 1       # in the length of the sixth
        self.path = self.write('damaged', bytes(whole))

    def lines(self, *numbers):
        return ''.join(f'record {i}\n' for i in numbers)

    def test_the_records_before_the_damage_are_printed(self):
        self.assertEqual(self.leat('cat', self.path, status=1), self.lines(0, 1))
        self.assertIn('damaged, record 2 at offset 48: checksum of the payload', self.errors)

    def test_on_damage(self):
        self.assertEqual(self.leat('cat', '--on-damage', 'skip', self.path, status=1),
                         self.lines(0, 1, 3, 4))
        self.assertEqual(self.leat('cat', '--on-damage', 'resync', self.path, status=1),
                         self.lines(0, 1, 3, 4, 6, 7, 8, 9))
        self.assertIn('24 bytes skipped', self.errors)
        self.assertEqual(self.leat('cat', '--on-damage', 'skip-file', self.path, status=1),
                         self.lines(0, 1))
        self.leat('cat', '--on-damage', 'ignore', self.path, status=2)

    def test_the_hint_is_only_for_tfrecord_files(self):
        self.write('a.csv', b'a,b\n1,"x\n')
        self.write('a.txt.gz', gzip.compress(b'x\n' * 100)[:-9])
        self.write('t.json', b'no trace')
        pipeline = '[source]\nformat = "FORMAT"\nfiles = ["FILE"]\n'
        for form, name in ('csv', 'a.csv'), ('lines', 'a.txt.gz'), ('tfrecord', self.path):
            self.write(form, pipeline.replace('FORMAT', form).replace('FILE', name).encode())
        for command in (['convert', 'a.csv', '-o', 'b'], ['convert', 'a.txt.gz', '-o', 'b'], ['run', 'csv'],
                        ['run', 'lines'], ['trace', 't.json']):
            self.leat(*command, status=1)
            self.assertTrue(self.errors.startswith('leat: '), self.errors)
            self.assertNotIn('Try', self.errors)
        self.leat('run', 'tfrecord', status=1)
        self.assertRegex(self.errors, "\nTry 'leat verify' .*, or 'leat repair' .*\n$")
        self.leat('convert', '--from', 'tfrecord', self.path, '-o', 'b', status=1)
        self.assertRegex(self.errors, "\nTry '--on-damage resync' .*, or 'leat repair' .*\n$")

    def test_the_hint_is_printed_once(self):
        self.leat('cat', self.path, self.path, status=1)
        said = self.errors.splitlines()
        self.assertEqual(len(said), 3)
        self.assertRegex(said[-1], "^Try '--on-damage resync' to continue after the damage, or 'leat repair' to copy ")
        for command in (['count'], ['stat'], ['index', '-o', 'i']):
            self.leat(*command, self.write('cut', records_file('x')[:-1]), status=1)
            self.assertRegex(self.errors, "\nTry 'leat verify' .*, or 'leat repair' .*\n$")
        for arguments in (['cat', '--on-damage', 'resync'], ['verify'], ['repair', '-o', 'whole']):
            self.leat(*arguments, self.path, status=0 if arguments[0] == 'repair' else 1)
            self.assertNotIn('Try', self.errors)
        self.leat('cat', '--json', self.path, status=1)
        self.assertNotIn('Try', self.errors)

    def test_max_held(self):
        large = framed(framed(b'within') + bytes(1 << 20))
        path = self.write('a.gz', gzip.compress(large + framed(b'last')))
        how = ['cat', '--on-damage', 'resync', '--max-record-size', '1000', path]
        self.assertEqual(self.leat(*how, status=1), 'last\n')
        self.assertEqual(self.leat(*how, '--max-held', '4KiB', status=1), 'within\nlast\n')
        self.assertIn('is above the limit --max-held: the search continues inside it', self.errors)
        [line, _] = self.leat_json(*how, '--max-held', '4KiB', status=1)[:2]
        self.assertIn('above the limit --max-held', line['error']['message'])
        for command in ('verify', 'repair'):
            self.leat(command, '--max-record-size', '1000', '--max-held', '4KiB', path,
                      *(['-o', 'out'] if command == 'repair' else []),
                      status=0 if command == 'repair' else 1)
        repaired = gzip.decompress(self.content('out'))
        self.assertEqual(repaired, records_file('within', 'last'))

    def test_max_ratio(self):
        path = self.write('a.gz', gzip.compress(framed(bytes(1 << 12)) * (5 << 10)))
        self.leat('cat', '--raw', path, status=1, error='more than --max-ratio times')
        self.leat('cat', '--raw', '--max-ratio', '2000', path)
        self.assertEqual(len(self.raw), (5 << 10) * ((1 << 12) + 1))

    def test_json_reports_damage(self):
        lines = self.leat_json('cat', '--on-damage', 'resync', self.path, status=1)
        self.assertEqual(len(lines), 10)
        self.assertEqual([(r['index'], r['skipped']) for r in lines if 'error' in r],
                         [(2, 24), (5, 24)])
        lines = self.leat_json('cat', self.path, status=1)
        self.assertEqual(lines[-1]['error']['code'], 'data_loss')

    def test_every_truncation(self):
        whole = records_file('abc', '', 'de')
        ends = [0, 19, 35, 53]
        for size in range(len(whole) + 1):
            path = self.write('cut', whole[:size])
            count = max(i for i in range(4) if ends[i] <= size)
            got = self.leat('cat', path, status=0 if size in ends else 1)
            self.assertEqual(got, ''.join(['abc\n', '\n', 'de\n'][:count]))

    def test_the_other_files_are_printed(self):
        good = self.write('good', records_file('good'))
        self.assertEqual(self.leat('cat', 'none', self.path, good, status=3),
                         self.lines(0, 1) + 'good\n')
        self.assertIn('none: cannot open', self.errors)
        self.leat('cat', self.folder, status=3, error='directory')


class Example(ToolTest):
    def setUp(self):
        super().setUp()
        self.record = example(age=[42, -1], name=[b'Ada', b'\xff'], weight=[0.1, float('inf')],
                              none=[])
        self.path = self.write('a', records_file(self.record))

    def test_text(self):
        self.assertEqual(self.leat('cat', '--example', self.path),
                         f'record 0, {len(self.record)} bytes\n'
                         '  age     int64  42, -1\n'
                         '  name    bytes  "Ada", "\\xff"\n'
                         '  none    empty\n'
                         '  weight  float  0.1, inf\n')

    def test_json(self):
        [line] = self.leat_json('cat', '--example', self.path)
        self.assertEqual(line['example'], {'features': {
            'age': {'int64': [42, -1]}, 'name': {'bytes': ['Ada', {'base64': '/w=='}]},
            'none': {}, 'weight': {'float': [0.1, 'Infinity']}}})

    def test_long_values_are_shortened_without_full(self):
        path = self.write('b', records_file(example(n=list(range(100)), t=[b'x' * 100])))
        self.assertIn('0, 1, ... (100 in all)', self.leat('cat', '--example', '--values', 2, path))
        self.assertIn(f'"{"x" * 16}"... (100 bytes)',
                      self.leat('cat', '--example', '--values', 2, path))
        full = self.leat('cat', '--example', '--full', path)
        self.assertIn(', 98, 99\n', full)
        self.assertIn('x' * 100, full)

    def test_sequences(self):
        record = sequence_example({'id': [7]}, words=[[b'a', b'b'], [], [b'c']], none=[])
        path = self.write('s', records_file(record))
        self.assertEqual(self.leat('cat', '--example', path),
                         f'record 0, {len(record)} bytes\n'
                         '  id        int64  7\n'
                         '  words[0]  bytes  "a", "b"\n'
                         '  words[1]  empty\n'
                         '  words[2]  bytes  "c"\n')
        self.assertIn('  words[...]  (3 in all)\n',
                      self.leat('cat', '--example', '--values', 2, path))
        [line] = self.leat_json('cat', '--example', path)
        self.assertEqual(line['example'], {
            'context': {'id': {'int64': [7]}},
            'feature_lists': {'none': [], 'words': [{'bytes': ['a', 'b']}, {},
                                                    {'bytes': ['c']}]}})

    def test_unpacked_numbers_and_unknown_fields(self):
        integers = field(3, b''.join(varint(1 << 3) + varint(v) for v in (1, -1)))
        unknown = varint(9 << 3) + varint(5)
        entry = field(1, b'n') + unknown + field(2, integers)
        later = field(1, b'n') + field(2, feature([2]))
        path = self.write('u', records_file(field(1, field(1, entry)), field(1, field(1, entry) +
                                                                             field(1, later))))
        features = self.features(path)
        self.assertEqual(features, [{'n': {'int64': [1, -1]}}, {'n': {'int64': [2]}}])

    def test_json_of_many_features_takes_linear_time(self):
        def seconds(count, *command):
            path = self.write(str(count),
                              records_file(example(**{f'f{i}': [i] for i in range(count)})))
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            record, = self.leat_json(*command, path)
            found = record['example' if command[0] == 'cat' else 'sample']['features']
            self.assertEqual(len(found), count)
            return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before

        for command in (['cat', '--example'], ['stat']):
            few = min(seconds(2500, *command) for _ in range(2))
            many = min(seconds(20000, *command) for _ in range(2))
            self.assertLess(many, 24 * few + 0.1, command)  # 8 times the features; squared: 64

    def test_a_record_that_is_not_an_example_is_an_error(self):
        path = self.write('c', records_file('just text', self.record))
        got = self.leat('cat', '--example', path, status=1)
        message = 'c, record 0 at offset 0 is not a tf.train.Example: '
        self.assertIn(message, self.errors)
        self.assertIn('record 1', got)
        lines = self.leat_json('cat', '--example', path, status=1)
        self.assertIn(message, lines[0]['error']['message'])
        self.assertIn('example', lines[1])

    def test_a_name_that_is_not_utf8_is_an_error(self):
        two = field(1, b''.join(field(1, field(1, name) + field(2, feature([7])))
                                for name in (b'a\xff', b'a\xfe')))
        path = self.write('c', records_file(two))
        for form in (), ('--json',):
            got = self.leat(*form, 'cat', '--example', path, status=1)
            self.assertIn("record 0 at offset 0 is not a tf.train.Example: a name that is not UTF-8 "
                          "at offset 6: 'a\\xff'", (got if form else self.errors).replace('\\\\', '\\'))
        self.assertNotIn('tf.train.Example, 2', self.leat('stat', path))

    def test_a_list_of_examples_is_not_an_example(self):
        # ExampleListWithContext of tensorflow/ranking: serialized Examples, and one for the context.
        for answer in b'short', b'long' * 50:
            documents = field(1, example(answer=[answer], relevance=[1])) + field(1, example(answer=[b'no']))
            context = field(2, example(query=[b'what']))
            for record in documents + context, documents, context:
                path = self.write('c', records_file(record))
                self.assertEqual(self.leat('cat', '--example', path, status=1), '')
                self.assertIn('record 0 at offset 0 is not a tf.train.Example: ', self.errors)
                self.assertIn('in 0 of the first 1 record', self.leat('stat', path))

    def test_every_truncated_example_is_shorter_or_an_error(self):
        for size in range(len(self.record)):
            path = self.write('d', records_file(self.record[:size]))
            done = subprocess.run([LEAT, 'cat', '--example', path], capture_output=True)
            self.assertIn(done.returncode, (0, 1))


class Head(ToolTest):
    def test_prints_ten_records_or_the_given_number(self):
        path = self.write('a', records_file(*map(str, range(20))))
        self.assertEqual(self.leat('head', path), ''.join(f'{i}\n' for i in range(10)))
        self.assertEqual(self.leat('head', '-n', 2, path), '0\n1\n')

    def test_several_files_have_headings(self):
        self.write('a', records_file('x'))
        self.write('b', records_file('y'))
        self.assertEqual(self.leat('head', 'a', 'b'), '==> a <==\nx\n\n==> b <==\ny\n')


class Ends(ToolTest):
    def setUp(self):
        super().setUp()
        self.path = self.write('a', records_file(*('x' * 1000 for _ in range(2000))))

    def test_a_closed_pipe_ends_the_command_silently_even_if_sigpipe_is_ignored(self):
        ignored = {'restore_signals': False,
                   'preexec_fn': lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN)}
        for options in {}, ignored:
            cat = subprocess.Popen([LEAT, 'cat', self.path], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, **options)
            cat.stdout.readline()
            cat.stdout.close()
            self.assertEqual(cat.wait(30), -signal.SIGPIPE, options)
            self.assertEqual(cat.stderr.read(), b'', options)
            cat.stderr.close()

    def test_a_full_device(self):
        with open('/dev/full', 'wb') as full:
            done = subprocess.run([LEAT, 'cat', self.path], stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 3)
        self.assertIn(b'standard output: cannot write: No space left on device', done.stderr)

    def test_a_closed_standard_output(self):
        done = subprocess.run(['sh', '-c', '"$0" cat "$1" >&-', LEAT, self.path],
                              stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 3)
        self.assertIn(b'standard output: cannot write', done.stderr)

    def test_an_interrupt(self):
        cat = subprocess.Popen([LEAT, 'cat'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        cat.stdin.write(records_file('first'))
        cat.stdin.flush()
        cat.send_signal(signal.SIGINT)
        self.assertEqual(cat.wait(30), -signal.SIGINT)
        cat.stdin.close()
        cat.stdout.close()

    def test_a_signal_leaves_complete_records_in_the_output(self):
        records = [f'{i} '.ljust(1000, 'x') for i in range(100)]
        for number in (signal.SIGINT, signal.SIGTERM):
            cat = subprocess.Popen([LEAT, 'cat', '-'], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
            cat.stdin.write(records_file(*records))
            cat.stdin.flush()  # the command reads all of it, and the input stays open
            first = cat.stdout.readline()
            cat.send_signal(number)
            text = (first + cat.stdout.read()).decode()
            self.assertEqual(cat.wait(30), -number)
            cat.stdin.close()
            cat.stdout.close()
            self.assertEqual(text, ''.join(r + '\n' for r in records[:text.count('\n')]))

    def test_a_signal_ends_a_command_whose_output_is_not_read(self):
        path = self.write('large', records_file(*('x' * 1000 for _ in range(2000))))
        cat = subprocess.Popen([LEAT, 'cat', path], stdout=subprocess.PIPE)
        self.wait_until_full(cat.stdout)
        cat.send_signal(signal.SIGTERM)
        self.assertEqual(cat.wait(30), -signal.SIGTERM)
        cat.stdout.close()

    def test_full_nonblocking_outputs(self):
        content = bytearray(records_file(*('x' * 1000 for _ in range(200))))
        for at in range(12, len(content), 2 * 1016):  # in every second record
            content[at] ^= 1
        command = [LEAT, 'cat', '--on-damage', 'resync', self.write('damaged', content)]
        blocking = subprocess.run(command, capture_output=True, timeout=60)
        self.assertGreater(min(len(blocking.stdout), len(blocking.stderr)), 8 << 10)

        pipes = [os.pipe(), os.pipe()]
        for reading, writing in pipes:
            fcntl.fcntl(reading, fcntl.F_SETPIPE_SZ, 4096)
            os.set_blocking(writing, False)
        cat = subprocess.Popen(command, stdout=pipes[0][1], stderr=pipes[1][1])
        for _, writing in pipes:
            os.close(writing)
        self.wait_until_full(pipes[0][0])
        texts = [b'', b'']
        unread = {reading: i for i, (reading, _) in enumerate(pipes)}
        while unread:
            for reading in select.select(list(unread), [], [])[0]:
                part = os.read(reading, 4096)
                texts[unread[reading]] += part
                if not part:
                    del unread[reading]
                    os.close(reading)
        self.assertEqual(cat.wait(30), blocking.returncode)
        self.assertEqual(texts, [blocking.stdout, blocking.stderr])

    def wait_until_full(self, pipe):
        before = held = 0
        while held == 0 or held != before:  # until the command cannot write more
            before, held = held, self.bytes_in(pipe)
            time.sleep(0.05)

    @staticmethod
    def bytes_in(pipe):
        return struct.unpack('i', fcntl.ioctl(pipe, termios.FIONREAD, b'\0' * 4))[0]


main()
