#!/usr/bin/env python3
"""leat run: pipelines that files declare."""

import gzip
import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import time

from support import LEAT, ToolTest, example, framed, main, records_file, sequence_example

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / 'examples' / 'pipeline.toml'
EXAMPLE_PROGRAM = os.environ.get('PIPELINE_EXAMPLE', '')

BATCH = '[[stage]]\nkind = "batch"\nsize = 4\n'
LABELS = '''
[[stage]]
kind = "parse_example"
workers = WORKERS
features = [{ name = "label", dtype = "int64" }]
'''
PEOPLE = '''
[source]
format = "lines"
files = ["people.csv"]
skip_header_lines = 1
[[stage]]
kind = "batch"
size = 2
[[stage]]
kind = "parse_csv"
columns = [
  { name = "name", dtype = "string" },
  { name = "age", dtype = "int64", default = -1 },
  { name = "weight", dtype = "float32" },
]
'''


class RunTest(ToolTest):
    def run_it(self, text, *arguments, **options):
        self.write('p.toml', text.encode())
        return self.leat('run', 'p.toml', *arguments, **options)

    def run_json(self, text, *arguments, **options):
        """What it printed, and the total."""
        *lines, last = map(json.loads, self.run_it(text, '--json', *arguments, **options).splitlines())
        return lines, last['total']

    def write_labels(self, count=100, files=2):
        for i in range(files):
            self.write(f'{i}.tfrecord', records_file(
                *(example(label=[k]) for k in range(i, count, files))))

    def write_people(self):
        self.write('people.csv', b'name,age,weight\nAda,36,0.1\n"Grace, B.",85,2\n"a ""b""",,-1.5\n')


class Formats(RunTest):
    def test_tfrecord(self):
        self.write('a.tfrecord', records_file('one', 'two', b'\xff\n'))
        text = '[source]\nfiles = ["a.tfrecord"]\n'
        self.assertEqual(self.run_it(text), '3 records\n')
        self.assertEqual(self.run_it(text, '--print'), 'one\ntwo\n\\xff\\n\n')
        lines, total = self.run_json(text, '--print')
        self.assertEqual(lines, [{'text': 'one'}, {'text': 'two'}, {'base64': '/wo='}])
        self.assertEqual((total['records'], total['bytes_read']), (3, 8))
        self.assertNotIn('batches', total)

    def test_compression_is_detected_from_the_first_bytes(self):
        self.write('a', gzip.compress(records_file('one')))
        self.assertEqual(self.run_it('[source]\nfiles = ["a"]\n', '--print'), 'one\n')
        self.run_it('[source]\nfiles = ["a"]\ncompression = "none"\n', '--print', status=1)
        self.run_it('[source]\nfiles = ["a"]\nmax_output = "10 B"\n', '--print', status=1, error='max_output')

    def test_lines(self):
        self.write('a.txt', b'head\none\ntwo')
        self.write('b.txt', b'head\n3\n')
        text = '[source]\nformat = "lines"\nfiles = ["?.txt"]\nskip_header_lines = 1\n'
        self.assertEqual(self.run_it(text, '--print'), 'one\ntwo\n3\n')
        text += 'interleave = 2\nblock_length = 1\nnum_epochs = 2\n'
        self.assertEqual(self.run_it(text, '--print'), 'one\n3\ntwo\n' * 2)
        self.assertEqual(self.run_it(text + 'readers = 3\n', '--print'), 'one\n3\ntwo\n' * 2)

    def test_fixed(self):
        self.write('a.bin', b'Haabbcc')
        text = '[source]\nformat = "fixed"\nfiles = ["a.bin"]\nrecord_size = 2\nheader_size = "1 B"\n'
        self.assertEqual(self.run_it(text, '--print'), 'aa\nbb\ncc\n')

    def test_incomplete_records_are_reported(self):
        self.write('a.bin', b'aabbc')
        self.write('b.bin', b'dd')
        self.write('c.bin', b'eef')
        text = '[source]\nformat = "fixed"\nfiles = ["?.bin"]\nrecord_size = 2\n'
        self.assertEqual(self.run_it(text, '--print'), 'aa\nbb\ndd\nee\n')
        self.assertIn(', 2 bytes skipped at the ends of files (incomplete records). ', self.errors)
        _, total = self.run_json(text)
        self.assertEqual((total['left_over_bytes'], total['lost_bytes']), (2, 0))
        self.assertEqual(total['stages'][0]['left_over_bytes'], 2)
        self.run_it(text, 'b.bin')
        self.assertNotIn('skipped', self.errors)

    def test_whole_files(self):
        self.write('a', b'one')
        self.write('b', b'two\n')
        text = '[source]\nformat = "whole_files"\nfiles = ["?"]\n'
        self.assertEqual(self.run_it(text, '--print'), 'one\ntwo\\n\n')

    def test_indexed_is_a_permutation_in_each_epoch(self):
        self.write('a.tfrecord', records_file(*map(str, range(50))))
        self.write('b.tfrecord', records_file(*map(str, range(50, 100))))
        text = '[source]\nformat = "indexed"\nfiles = ["?.tfrecord"]\nseed = 1\nnum_epochs = 2\n'
        got = self.run_it(text, '--print').split()
        self.assertEqual(sorted(map(int, got[:100])), list(range(100)))
        self.assertEqual(sorted(map(int, got[100:])), list(range(100)))
        self.assertNotEqual(got[:100], got[100:])
        self.assertEqual(got, self.run_it(text, '--print').split())
        parts = [self.run_it(text + f'rank = {r}\nworld_size = 2\n', '--print').split()[:50]
                 for r in (0, 1)]
        self.assertEqual([x for pair in zip(*parts) for x in pair], got[:100])

    def test_ranks_share_the_files(self):
        for i in range(4):
            self.write(f'{i}.txt', b'%d\n' % i)
        text = '[source]\nformat = "lines"\nfiles = ["*.txt"]\nworld_size = 2\nrank = '
        self.assertEqual([self.run_it(text + str(r), '--print') for r in (0, 1)],
                         ['0\n2\n', '1\n3\n'])
        self.run_it(text + '0\n', '0.txt', status=2)
        self.assertIn('p.toml:1:1: [source]: 1 file for 2 ranks', self.errors)

    def test_standard_input_and_files_of_the_command_line(self):
        self.assertEqual(self.run_it('[source]\nformat = "lines"\nfiles = ["-"]\n', '--print',
                                     input=b'x\ny\n'), 'x\ny\n')
        self.write('a.txt', b'a\n')
        self.assertEqual(self.run_it('[source]\nformat = "lines"\n', '--print', 'a.txt'), 'a\n')
        self.assertEqual(self.leat('run', '-', '--print', 'a.txt',
                                   input=b'[source]\nformat = "lines"\n'), 'a\n')

    def test_an_existing_name_is_not_a_pattern(self):
        self.write('run[1].txt', b'name\n')
        self.write('run1.txt', b'match\n')
        text = '[source]\nformat = "lines"\n'
        for name, line in (('run[1].txt', 'name\n'), (r'run\[1\].txt', 'name\n'),
                           ('run[12].txt', 'match\n')):
            self.assertEqual(self.run_it(text, '--print', name), line)
            self.assertEqual(self.leat('convert', '--from', 'lines', name, '--to', 'lines', '-o', '-'),
                             line)
        self.write('b\\c.txt', b'backslash\n')
        self.write('bc.txt', b'none\n')
        self.write('de.txt', b'escaped\n')
        for name, line in (('b\\c.txt', 'backslash\n'), (r'b\\c.txt', 'backslash\n'), (r'b\\\c.tx?', 'backslash\n'),
                           (r'd\e.txt', 'escaped\n')):
            self.assertEqual(self.run_it(text + f"files = ['{name}']\n", '--print'), line)
            self.assertEqual(self.run_it(text, '--print', name), line)
            self.assertEqual(self.leat('convert', '--from', 'lines', name, '--to', 'lines', '-o', '-'),
                             line)
        self.run_it(text, '--print', r'run\[2\].txt', status=3, error=r"no file matches 'run\[2\].txt'")


class Stages(RunTest):
    def test_the_order_does_not_depend_on_the_number_of_workers(self):
        self.write_labels(1000)
        text = ('[source]\nfiles = ["*.tfrecord"]\ninterleave = 2\nblock_length = 3\nshuffle = true\n'
                'seed = 5\nnum_epochs = 2\n[[stage]]\nkind = "shuffle"\ncapacity = 37\nseed = 1\n'
                + BATCH + LABELS)
        expected = self.run_it(text.replace('WORKERS', '0'), '--print')
        labels = [v for line in expected.splitlines()
                  for v in json.loads(line)['columns']['label']['values']]
        self.assertEqual(sorted(labels), sorted(2 * list(range(1000))))
        self.assertNotEqual(labels[:1000], labels[1000:])
        for workers, threads in (('1', '0'), ('4', '2'), ('4', '4')):
            self.assertEqual(self.run_it(text.replace('WORKERS', workers), '--print', '-j', threads),
                             expected)

    def test_free_order_has_the_same_batches(self):
        self.write_labels(400)
        text = '[source]\nfiles = ["*.tfrecord"]\n' + BATCH + LABELS.replace('WORKERS', '4')
        expected = self.run_it(text, '--print').splitlines()
        got = self.run_it('[pipeline]\norder = "free"\nthreads = 2\n' + text,
                          '--print').splitlines()
        columns = [[json.loads(line)['columns']['label']['values'] for line in lines]
                   for lines in (expected, got)]
        self.assertEqual(*map(sorted, columns))

    def test_batches_of_records(self):
        self.write('a.txt', b'1\n2\n3\n4\n5\n')
        text = '[source]\nformat = "lines"\nfiles = ["a.txt"]\n[[stage]]\nkind = "batch"\nsize = 2\n'
        self.assertEqual(self.run_it(text), '3 batches, 5 records\n')
        self.assertEqual(self.run_it(text, '--print'), '1\n2\n3\n4\n5\n')
        lines, total = self.run_json(text, '--print')
        self.assertEqual(lines, [{'batch': 0, 'records': ['1', '2']},
                                 {'batch': 1, 'records': ['3', '4']}, {'batch': 2, 'records': ['5']}])
        self.assertEqual((total['batches'], total['records'], total['dropped']), (3, 5, 0))
        _, total = self.run_json(text + 'last = "drop"\n')
        self.assertEqual((total['batches'], total['records'], total['dropped']), (2, 4, 1))
        self.run_it(text + 'last = "drop"\n')
        self.assertIn(', 1 dropped. ', self.errors)

    def test_a_shuffle_of_batches(self):
        self.write('a.txt', b''.join(b'%d\n' % i for i in range(40)))
        text = ('[source]\nformat = "lines"\nfiles = ["a.txt"]\n' + BATCH +
                '[[stage]]\nkind = "shuffle"\ncapacity = 5\nseed = 1\n')
        got = list(map(int, self.run_it(text, '--print').split()))
        self.assertEqual(sorted(got), list(range(40)))
        self.assertNotEqual(got, list(range(40)))
        self.assertTrue(all(got[i] + 3 == got[i + 3] for i in range(0, 40, 4)))

    def test_csv(self):
        self.write_people()
        [first, second], _ = self.run_json(PEOPLE, '--print')
        self.assertEqual(first, {'batch': 0, 'records': 2, 'columns': {
            'name': {'dtype': 'string', 'shape': [2], 'values': ['Ada', 'Grace, B.']},
            'age': {'dtype': 'int64', 'shape': [2], 'values': [36, 85]},
            'weight': {'dtype': 'float32', 'shape': [2], 'values': [0.1, 2.0]}}})
        self.assertEqual(second['columns']['age']['values'], [-1])

    def test_records_of_csv_with_line_ends(self):
        text = PEOPLE.replace('"lines"', '"csv"').replace('skip_header_lines', 'skip_header_records')
        self.write('people.csv', b'\xef\xbb\xbf"na\nme",age,weight\n"Ada\nL.",36,0.1\r\n\nBob,,2\rEve,1,3')
        batches, _ = self.run_json(text, '--print')
        self.assertEqual([b['columns']['name']['values'] for b in batches], [['Ada\nL.', 'Bob'], ['Eve']])
        self.write('people.csv', b'name,age,weight\nAda,36,0.1\nBob,"x\ny",2\n')
        self.run_it(text, status=1, error="people.csv, record 2 at offset 27, byte 5, field 1 ('age')")
        self.write('people.csv', b'name,age,weight\nAda,36,0.1\nBob,"1,2\nEve,1,"3\n')
        self.run_it(text, status=1)
        self.assertIn('people.csv, record 2 at offset 27: byte 16: quote in a quoted field', self.errors)
        header = text.replace('columns = [', 'header = true\ncolumns = [')
        self.write('people.csv', b'"w,1",weight,age,name\n0,0.1,36,"Ada\nL."\n')
        [batch], _ = self.run_json(header, '--print')
        self.assertEqual(batch['columns']['name']['values'], ['Ada\nL.'])

    def test_csv_columns_are_found_by_the_header(self):
        text = PEOPLE.replace('columns = [', 'header = true\ncolumns = [').replace('["people.csv"]', '["?.csv"]')
        self.write('a.csv', b'\xef\xbb\xbfweight,"name",id,age\r\n0.1,Ada,x,36\r\n2,Grace,y,\r\n')
        self.write('b.csv', b'weight,"name",id,age\n3,Mary,,1\n')
        self.write('c.csv', b'')
        [first, second], _ = self.run_json(text, '--print')
        self.assertEqual({n: c['values'] for n, c in first['columns'].items()},
                         {'name': ['Ada', 'Grace'], 'age': [36, -1], 'weight': [0.1, 2.0]})
        self.assertEqual(second['columns']['name']['values'], ['Mary'])
        self.assertIn('3 columns by header', self.run_it(text, '--check'))
        # The header is the last one of several skipped lines; compressed files have one too.
        (self.folder / 'b.csv').unlink()
        lines = b'# people\n' + self.content('a.csv')[3:]
        for content in lines, gzip.compress(lines):
            self.write('a.csv', content)
            self.assertEqual(self.run_it(text.replace('lines = 1', 'lines = 2'), '-o', '-'),
                             'name,age,weight\nAda,36,0.1\nGrace,-1,2\n')
        # Given as text, also for input that can be read only once.
        text = PEOPLE.replace('columns = [', 'header = "weight;name;id;age"\ndelimiter = ";"\ncolumns = [')
        text = text.replace('skip_header_lines = 1\n', '')
        self.assertEqual(self.run_it(text, '-', '-o', '-', input=b'1;Ada;;36\n'),
                         'name,age,weight\nAda,36,1\n')

    def test_features_of_every_kind(self):
        self.write('a.tfrecord', records_file(
            example(f=[0.5, 1.5], w=[b'a', b'b'], i=[1], v=[7.0], n=[2, 0]),
            example(f=[2.5, float('inf')], w=[b'\xff', b'c', b'd'], i=[0], v=[8.0], n=[0, 3], m=[4])))
        text = '''
            [source]
            files = ["a.tfrecord"]
            [[stage]]
            kind = "batch"
            size = 2
            [[stage]]
            kind = "parse_example"
            [[stage.features]]
            name = "f"
            dtype = "float32"
            shape = [2]
            [[stage.features]]
            name = "none"
            dtype = "int64"
            shape = [2]
            default = [4, 5]
            [[stage.features]]
            name = "w"
            dtype = "string"
            kind = "var_len"
            [[stage.features]]
            name = "s"
            dtype = "float32"
            kind = "sparse"
            index_keys = ["i"]
            value_key = "v"
            size = [3]
            [[stage.features]]
            name = "m"
            dtype = "int64"
            kind = "fixed_len_sequence"
            default = -1
            [[stage.features]]
            name = "r"
            dtype = "string"
            kind = "ragged"
            value_key = "w"
            partitions = [{ kind = "row_lengths", key = "n" }]
            '''
        [batch], _ = self.run_json(text, '--print')
        bad = {'base64': '/w=='}
        self.assertEqual(batch['columns'], {
            'f': {'dtype': 'float32', 'shape': [2, 2], 'values': [[0.5, 1.5], [2.5, 'Infinity']]},
            'none': {'dtype': 'int64', 'shape': [2, 2], 'values': [[4, 5], [4, 5]]},
            'w': {'dtype': 'string', 'dense_shape': [2, 3],
                  'indices': [[0, 0], [0, 1], [1, 0], [1, 1], [1, 2]],
                  'values': ['a', 'b', bad, 'c', 'd']},
            's': {'dtype': 'float32', 'dense_shape': [2, 3], 'indices': [[0, 1], [1, 0]],
                  'values': [7.0, 8.0]},
            'm': {'dtype': 'int64', 'shape': [2, 1], 'values': [[-1], [4]]},
            'r': {'dtype': 'string', 'row_splits': [[0, 2, 4], [0, 2, 2, 2, 5]],
                  'values': ['a', 'b', bad, 'c', 'd']}})

    def test_sequence_examples(self):
        self.write('a.tfrecord', records_file(
            sequence_example({'id': [7]}, frames=[[0.5, 1.0], [2.0, 3.0]], words=[[b'a'], [b'b', b'c']]),
            sequence_example({'id': [8]}, frames=[[4.0, 5.0]], words=[])))
        text = '''
            [source]
            files = ["a.tfrecord"]
            [[stage]]
            kind = "batch"
            size = 2
            [[stage]]
            kind = "parse_sequence_example"
            workers = 2
            context = [{ name = "id", dtype = "int64" },
                       { name = "none", dtype = "float32", default = 1.5 }]
            sequences = [{ name = "frames", dtype = "float32", shape = [2] },
                         { name = "words", dtype = "string", kind = "var_len" }]
            '''
        [batch], _ = self.run_json(text, '--print')
        self.assertEqual(batch['columns'], {
            'id': {'dtype': 'int64', 'shape': [2], 'values': [7, 8]},
            'none': {'dtype': 'float32', 'shape': [2], 'values': [1.5, 1.5]},
            'frames': {'dtype': 'float32', 'shape': [2, 2, 2],
                       'values': [[[0.5, 1.0], [2.0, 3.0]], [[4.0, 5.0], [0.0, 0.0]]]},
            'words': {'dtype': 'string', 'dense_shape': [2, 2, 2],
                      'indices': [[0, 0, 0], [0, 1, 0], [0, 1, 1]], 'values': ['a', 'b', 'c']},
            'frames.length': {'dtype': 'int64', 'shape': [2], 'values': [2, 1]}})
        self.assertIn('2 context features, 2 sequences, 2 workers', self.run_it(text, '--check'))

    def test_examples_as_json(self):
        lines = [{'features': {'feature': {'n': {'int64List': {'value': [i]}}}}} for i in range(3)]
        self.write('a.jsonl', '\n'.join(map(json.dumps, lines)).encode())
        text = ('[source]\nformat = "lines"\nfiles = ["a.jsonl"]\n' + BATCH + '[[stage]]\n'
                'kind = "parse_example"\nencoding = "json"\n'
                'features = [{ name = "n", dtype = "int64" }]\n')
        [batch], _ = self.run_json(text, '--print')
        self.assertEqual(batch['columns']['n']['values'], [0, 1, 2])

    def test_raw_numbers(self):
        self.write('a.bin', bytes([1, 0, 2, 0, 3, 0, 4, 1]))
        text = ('[source]\nformat = "fixed"\nfiles = ["a.bin"]\nrecord_size = 4\n' + BATCH +
                '[[stage]]\nkind = "decode_raw"\ndtype = "uint16"\n')
        [batch], _ = self.run_json(text, '--print')
        self.assertEqual(batch['columns']['values'],
                         {'dtype': 'uint16', 'shape': [2, 2], 'values': [[1, 2], [3, 260]]})
        [batch], _ = self.run_json(text + 'byte_order = "big"\ncolumn = "x"\n', '--print')
        self.assertEqual(batch['columns']['x']['values'], [[256, 512], [768, 1025]])


class Outputs(RunTest):
    def test_records_as_they_are(self):
        self.write('a.tfrecord', records_file('one', 'two'))
        text = '[source]\nfiles = ["a.tfrecord"]\n[output]\nkind = "write"\npath = "b.tfrecord.gz"\n'
        self.assertEqual(self.run_it(text), '2 records in b.tfrecord.gz\n')
        self.assertEqual(gzip.decompress(self.content('b.tfrecord.gz')), records_file('one', 'two'))
        self.run_it(text, '-o', 'b.txt')
        self.assertEqual(self.content('b.txt'), b'one\ntwo\n')
        self.run_it(text, '-o', '-')
        self.assertEqual(self.raw, records_file('one', 'two'))
        self.run_it(text, '-o', '-', '--json', status=2)
        self.run_it(text + 'max_records = 1\nindex = true\n', '-o', 'part')
        self.assertEqual(self.leat('cat', 'part-*.tfrecord'), 'one\ntwo\n')
        self.leat('index', '--check', 'part-*.tfrecord')
        _, total = self.run_json(text + 'shards = 2\n', '-o', 'x')
        self.assertEqual(total['outputs'], [f'x-0000{i}-of-00002.tfrecord' for i in range(2)])

    def test_columns_as_csv(self):
        self.write_people()
        expected = b'name,age,weight\nAda,36,0.1\n"Grace, B.",85,2\n"a ""b""",-1,-1.5\n'
        self.run_it(PEOPLE, '-o', 'b.csv')
        self.assertEqual(self.content('b.csv'), expected)
        text = PEOPLE + '[output]\nkind = "write"\npath = "-"\nheader = false\ndelimiter = ";"\n'
        self.assertEqual(self.run_it(text), 'Ada;36;0.1\nGrace, B.;85;2\n"a ""b""";-1;-1.5\n')
        self.write('people.csv', b'name,age,weight\n')
        self.run_it(PEOPLE, '-o', 'b.csv')
        self.assertEqual(self.content('b.csv'), b'name,age,weight\n')

    def test_columns_as_examples(self):
        self.write_people()
        self.run_it(PEOPLE, '-o', 'b.tfrecord')
        examples = self.features('b.tfrecord')
        self.assertEqual(examples[1], {'name': {'bytes': ['Grace, B.']}, 'age': {'int64': [85]},
                                       'weight': {'float': [2.0]}})
        self.write('a.tfrecord', records_file(example(w=[b'a', b'b'], f=[1.0, 2.0]),
                                              example(f=[3.0, 4.0]), example(w=[b'c'], f=[5.0, 6.0])))
        text = ('[source]\nfiles = ["a.tfrecord"]\n' + BATCH + '[[stage]]\nkind = "parse_example"\n'
                'features = [{ name = "w", dtype = "string", kind = "var_len" }, '
                '{ name = "f", dtype = "float32", shape = [2] }]\n')
        self.run_it(text, '-o', 'c.tfrecord')
        examples = self.features('c.tfrecord')
        self.assertEqual([e['w']['bytes'] for e in examples], [['a', 'b'], [], ['c']])
        self.assertEqual([e['f']['float'] for e in examples], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])

    def test_an_input_is_not_replaced(self):
        self.write('a.txt', b'x\n')
        text = '[source]\nformat = "lines"\nfiles = ["*.txt"]\n'
        self.run_it(text, '-o', 'a.txt', status=2, error='a.txt: output would replace this input file')
        self.run_it(text, '-o', 'b.txt')
        self.run_it(text, '-o', './b.txt', status=2)
        name = 's-00000-of-00001.tfrecord'
        self.write(name, records_file('x'))
        self.run_it(f'[source]\nfiles = ["{name}"]\n[output]\nkind = "write"\npath = "s"\n'
                    'shards = 1\n', status=2, error=f'{name}: output would replace this input file')

    def test_the_declaration_is_not_replaced(self):
        self.write('a.txt', b'x\n')
        text = '[source]\nformat = "lines"\nfiles = ["a.txt"]\n[output]\nkind = "write"\npath = "p.toml"\n'
        os.link(self.write('p.toml', text.encode()), self.folder / 'link')
        self.leat('run', 'p.toml', status=2, error='p.toml: output would replace this input file')
        self.leat('run', 'p.toml', '-o', 'link', status=2)
        with open(self.folder / 'p.toml') as declaration:
            self.leat('run', '-', stdin=declaration, status=2)
        self.assertIn('-: output would replace this input file', self.errors)
        self.assertEqual(self.content('p.toml'), text.encode())
        self.leat('run', 'p.toml', '--count')

    def test_the_quarantine_is_no_input_and_no_output(self):
        self.write('a.txt', b'x\n')
        os.link(self.folder / 'a.txt', self.folder / 'hard')
        os.symlink('out.tfrecord', self.folder / 'soft')
        text = ('[source]\nformat = "lines"\nfiles = ["a.txt"]\nquarantine = "NAME"\n'
                '[output]\nkind = "write"\npath = "out.tfrecord"\nindex = true\n')
        sharded = text.replace('"out.tfrecord"\nindex = true', '"s"\nformat = "tfrecord"\nshards = 1')
        use = {'a.txt': 'the input file a.txt', 'hard': 'the input file a.txt',
               'p.toml': 'the input file p.toml', 'out.tfrecord': 'an output file',
               './out.tfrecord': 'an output file', 'soft': 'an output file',
               'out.tfrecord.index': 'an output file',
               's-00000-of-00001.tfrecord': 'an output file'}
        for name, what in use.items():
            declared = (sharded if name.startswith('s-') else text).replace('NAME', name)
            self.run_it(declared, status=2)
            self.assertIn(f"{name}: the quarantine file is also {what}: choose another path for "
                          "'quarantine'", self.errors)
            self.assertEqual(self.content('p.toml'), declared.encode())
        self.assertEqual(self.content('a.txt'), b'x\n')
        self.assertEqual({p.name for p in self.folder.iterdir()}, {'a.txt', 'hard', 'soft', 'p.toml'})
        self.run_it(text.replace('NAME', 'a.txt').replace('write', 'count').split('path')[0], status=2)
        for _ in range(2):
            self.run_it(text.replace('NAME', 'lost.json'))

    def test_limit(self):
        self.write('a.txt', b''.join(b'%d\n' % i for i in range(1000)))
        text = '[source]\nformat = "lines"\nfiles = ["a.txt"]\nnum_epochs = "endless"\n'
        self.assertEqual(self.run_it(text, '--limit', 3, '--print'), '0\n1\n2\n')
        self.assertEqual(self.run_it(text, '-n', 1500), '1500 records\n')
        self.assertEqual(self.run_it(text + BATCH, '-n', 2, '--print').split(),
                         list(map(str, range(8))))
        self.assertEqual(self.run_it(text + BATCH, '-n', 0), '0 batches, 0 records\n')
        self.assertEqual(self.run_it(text, '-n', 70, '-o', 'b.txt'), '70 records in b.txt\n')
        self.assertEqual(len(self.content('b.txt').split()), 70)

    def test_the_summary(self):
        self.write_labels()
        text = '[source]\nfiles = ["*.tfrecord"]\n' + BATCH + LABELS.replace('WORKERS', '1')
        self.run_it(text)
        self.assertRegex(self.errors, r'^leat: pipeline: 25 batches, 100 records, \d+\S* \w+ read in '
                                      r'\d+\.\d\d s, \d+ records/s\. [A-Z].*\.\n$')
        self.run_it(text, '--quiet')
        self.assertEqual(self.errors, '')
        self.run_it(text, '--verbose')
        for name in ('files', 'batch', 'parse_example', 'consumer'):
            self.assertRegex(self.errors, rf'(?m)^leat: {name} +\d+ out  1 task  busy')
        _, total = self.run_json(text)
        self.assertEqual([s['name'] for s in total['stages']],
                         ['files', 'batch', 'parse_example', 'consumer'])
        self.assertIn('verdict', total)

    def test_progress_needs_a_terminal(self):
        self.write('p.toml', b'[source]\nformat = "lines"\nfiles = ["-"]\n')
        ours, its = pty.openpty()
        done = subprocess.Popen([LEAT, 'run', 'p.toml'], cwd=self.folder, stdin=subprocess.PIPE,
                                stdout=subprocess.DEVNULL, stderr=its)
        os.close(its)
        shown = os.read(ours, 4096)
        self.assertRegex(shown, rb'^\r\x1b\[Kpipeline: 0 records, 0 bytes read, 0 records/s, ')
        done.stdin.close()
        self.assertEqual(done.wait(30), 0)
        os.close(ours)

    def progress_until(self, pattern, *arguments):
        """Returns what a terminal shows of `leat run`; reads its output only after the pattern has appeared."""
        ours, its = pty.openpty()
        done = subprocess.Popen([LEAT, 'run', 'p.toml', '-o', '-', *arguments], cwd=self.folder,
                                stdout=subprocess.PIPE, stderr=its)
        os.close(its)
        done.stdout.read(1 << 20)
        text = b''
        while not re.search(pattern, text) and text.count(b'pipeline:') < 40:
            text += os.read(ours, 4096)
        done.stdout.read()
        self.assertEqual(done.wait(30), 0)
        done.stdout.close()
        os.close(ours)
        self.assertRegex(text, pattern)
        return text

    def test_progress_shows_the_remaining_time(self):
        self.write('a', records_file(*[bytes(1 << 10)] * 8000))
        self.write('a.gz', gzip.compress(self.content('a'), 1))
        left = rb' \d+ %, \d+ s left'
        self.write('p.toml', b'[source]\nfiles = ["a"]\n')
        self.progress_until(left)
        self.write('p.toml', b'[source]\nfiles = ["a"]\nnum_epochs = "endless"\n')
        self.progress_until(left, '-n', '20000')
        self.write('p.toml', b'[source]\nfiles = ["a.gz"]\n')
        text = self.progress_until(rb'(?s)(pipeline: .*){8}')
        self.assertNotIn(b'left', text)


class Check(RunTest):
    def test_check_prints_the_stages_and_opens_no_input(self):
        text = self.leat('run', '--check', EXAMPLE)
        self.assertIn('points: deterministic order', text)
        self.assertRegex(text, r'(?m)^  files +tfrecord points/\*\.tfrecord +records$')
        self.assertRegex(text, r'(?m)^  parse_example +2 features, 2 workers +batches of columns$')
        self.assertIn('    point: float32 [?,2]\n    label: int64 [?]\n', text)
        [answer] = self.leat_json('run', '--check', EXAMPLE)
        self.assertEqual([s['name'] for s in answer['stages']],
                         ['files', 'shuffle', 'batch', 'parse_example', 'prefetch'])
        self.assertEqual(answer['columns'][0], {'name': 'point', 'is': 'float32 [?,2]'})
        self.assertEqual(answer['output'], 'count')
        self.assertEqual(os.listdir(self.folder), [])

    def test_the_example_runs(self):
        if not EXAMPLE_PROGRAM:
            self.skipTest('the example is not built')
        subprocess.run([EXAMPLE_PROGRAM, 'points'], cwd=self.folder, check=True, timeout=60,
                       stdout=subprocess.DEVNULL)
        self.assertEqual(self.leat('run', EXAMPLE), '250 batches, 8000 records\n')


class Errors(RunTest):
    def refused(self, text, *messages, status=2, arguments=()):
        """Each message begins with line:column."""
        self.run_it(text, *arguments, status=status)
        lines = [line for line in self.errors.splitlines() if not line.startswith('Try ')]
        self.assertEqual(len(lines), len(messages), self.errors)
        for line, message in zip(lines, messages):
            self.assertTrue(line.startswith('leat: p.toml:' + message), f'{line}\n{message}')

    def test_invalid_toml(self):
        self.refused('[source\n', '1:8: ')
        self.refused('files = "unfinished\n', '1:20: ')
        self.leat('run', 'none.toml', status=3, error='none.toml')
        self.leat('run', status=2)
        self.write('large.toml', b'#' * (1 << 21))
        self.leat('run', 'large.toml', status=1)

    def test_a_key_of_20000_parts_is_an_error(self):
        deep = 'a' + '.a' * 20000
        for text in (f'[{deep}]', f'{deep} = 1', f'x = {{ {deep} = 1 }}', f'[[{deep}]]',
                     'a' + ' . "a"' * 20000 + ' = 1', "a" + ".'a'" * 20000 + ' = 1',
                     f's = """\n"\\""""""\n{deep} = 1', f"s = \'\'\'\n\'\'\'\'\n{deep} = 1",
                     f's = "#" # "\n{deep} = 1', f's = 1.5\n{deep} = 1'):
            with self.subTest(text[:40]):
                self.run_it(text, status=2, error='a dotted key has more than 16 parts')
        self.run_it('\n\n' + deep + ' = 1', status=2, error='p.toml:3:')

    def test_tables_that_are_nested_too_deep(self):
        key = '.'.join('a' * 16)
        self.run_it(key + ' = ' + ('{ %s = ' % key) * 250 + '1' + '}' * 250, status=2)
        self.assertIn('nested more than 64 deep', self.errors)

    def test_dots_outside_of_keys_are_allowed(self):
        dots = '.' * 100
        self.run_it(f'# {dots}\n[source]\nfiles = ["{dots}", \'{dots}\', """{dots}""""", '
                    f"\'\'\'{dots}\'\'\']\n", '--check')
        self.run_it('.'.join('a' * 16) + ' = 1.5\n', '--check', status=2, error="unknown key 'a'")

    def test_keys_and_types(self):
        self.refused('', "1:1: the file: 'source' is missing: give a table [source]")
        self.refused('source = 3\n', '1:10: [source]: give a table, not 3')
        self.refused('[source]\nfils = ["a"]\n',
                     "1:1: [source]: 'files' is missing: give a list of files or patterns",
                     "2:1: [source] of format 'tfrecord': unknown key 'fils': use one of block_length, ")
        self.refused('[source]\nfiles = "a"\n',
                     "2:9: [source] of format 'tfrecord': files: give a list of texts, not \"a\"")
        self.refused('[source]\nformat = "json"\n', '2:10: [source]: format: give "csv", "fixed", '
                     '"indexed", "lines", "tfrecord" or "whole_files", not "json"')
        for key, value, message in [
                ('interleave', '0', 'give a whole number from 1 to 1024, not 0'),
                ('block_length', '-1', 'give a whole number of 1 or more, not -1'),
                ('shuffle', '1', 'give true or false, not 1'),
                ('num_epochs', '"often"', 'give a whole number of 1 or more, or "endless"'),
                ('chunk_size', '"4 kB"', '1 to 1073741824 bytes'),
                ('seed', '1979-05-27', 'give a whole number of 0 or more, not a date or time'),
                ('on_damage', '"ignore"', 'give "fail", "resync", "skip" or "skip-file"'),
                ('checks', '"some"', 'give "all", "header_only" or "none"'),
                ('rank', '1', 'give a number below world_size')]:
            self.refused(f'[source]\nfiles = ["a"]\n{key} = {value}\n',
                         f"3:{len(key) + 4}: [source] of format 'tfrecord': {key}: ")
            self.assertIn(message, self.errors)
        self.refused('[pipeline]\npatience = 3\nfriends = 1\n[source]\nfiles = ["a"]\n',
                     '2:12: [pipeline]: patience: give a time with its unit',
                     "3:1: [pipeline]: unknown key 'friends': use one of memory_budget, name, order, "
                     'patience, threads')
        self.refused('stage = 1\n[source]\nfiles = ["a"]\n',
                     '1:9: the file: stage: give a list of tables')

    def test_the_manual_and_the_documentation_list_every_key(self):
        root = pathlib.Path(__file__).resolve().parents[2]
        pages = [(root / name).read_text() for name in ('tools/leat/leat.1', 'docs/tool.md')]
        source = '[source]\nfiles = ["a"]\n'
        feature = BATCH + '[[stage]]\nkind = "parse_example"\n[[stage.features]]\nname = "a"\ndtype = "int64"\n'
        partition = '[[stage.features.partitions]]\nkind = "uniform_row_length"\nlength = 1\n'
        tables = [source + '[pipeline]\n', source + '[output]\nkind = "write"\npath = "x"\n', source + feature + 'kind = "ragged"\n' + partition]
        for choice in 'format = ', BATCH + '[[stage]]\nkind = ', feature + 'kind = ':
            self.run_it(source + choice + '"no_such_name"\n', status=2)
            names = re.search(r': give (".*"), not "no_such_name"', self.errors)[1]
            tables += [source + choice + name + '\n' for name in re.findall(r'"\w+"', names)]
        for table in tables:
            self.run_it(table + 'no_such_key = 1\n', status=2)
            keys = re.search(r"unknown key 'no_such_key': use one of (.*)", self.errors)[1].split(', ')
            for key in keys:
                for page in pages:
                    self.assertRegex(page, rf'\b{key}\b')

    def test_all_errors_are_reported_together(self):
        self.refused('[source]\nfiles = ["a"]\nblock_length = 0\n[[stage]]\nkind = "shuffle"\n[[stage]]\n'
                     'kind = "bach"\n[output]\nkind = "send"\n[more]\n',
                     '3:16: [source]', "4:1: stage 1 of kind 'shuffle': 'capacity' is missing",
                     '7:8: stage 2: kind: give "batch", "decode_raw", "parse_csv"',
                     '9:8: [output]: kind: give "count", "print" or "write"',
                     "10:2: the file: unknown key 'more': use one of output, pipeline, source, stage")
        lines = self.run_it('[source]\nfiles = ["a"]\nblock_length = 0\ndepth = 0\n', '--json',
                            status=2).splitlines()
        self.assertEqual([json.loads(line)['error']['code'] for line in lines],
                         ['invalid_argument'] * 2)

    def test_invalid_fields_and_delimiters_of_csv(self):
        for delimiter in '', ';;':
            self.run_it(PEOPLE + f'delimiter = "{delimiter}"\n', status=2)
            self.assertIn('delimiter: give one character, such as ";"', self.errors)
        as_csv = PEOPLE.replace('"lines"', '"csv"').replace('skip_header_lines', 'skip_header_records')
        for setting in 'delimiter = ";"\n', 'quotes = false\n':
            self.run_it(as_csv + setting, status=2)
            self.assertRegex(self.errors, r'(delimiter|quotes): give the (delimiter|value) of the source')
        for select, message in (('-1, 0, 1', 'select: give field numbers of 0 or more'),
                                ('0', 'select has 1 fields for 3 columns'),
                                ('1, 0, 2', 'select must be in strictly ascending order')):
            self.run_it(PEOPLE + f'select = [{select}]\n', status=2, error=message)

    def test_invalid_headers_of_csv(self):
        def with_header(header, text=PEOPLE):
            return text.replace('columns = [', f'header = {header}\ncolumns = [')
        self.write('people.csv', b'name,age,height\nAda,36,0.1\n')
        at = "stage 2 of kind 'parse_csv'"
        self.refused(with_header('3'), f'11:10: {at}: header: give true, false or the header line, not 3')
        self.refused(with_header('true', PEOPLE.replace('skip_header_lines = 1\n', '')),
                     f'10:10: {at}: header: a header in files requires skip_header_lines of at least 1 in the source')
        self.refused(with_header('true', PEOPLE.replace('"lines"', '"tfrecord"').replace(
            'skip_header_lines = 1\n', '')), f'10:10: {at}: header: only a source of format \'csv\' or \'lines\' has a header')
        as_csv = PEOPLE.replace('"lines"', '"csv"').replace('skip_header_lines', 'skip_header_records')
        self.refused(with_header('true', as_csv.replace('skip_header_records = 1\n', '')),
                     f'10:10: {at}: header: a header in files requires skip_header_records of at least 1 in the source')
        self.refused(with_header('true') + 'select = [0, 1, 2]\n', f'17:10: {at}: select: ')
        self.refused(with_header('"name,age"'), f'9:1: {at}: ')
        self.assertIn("'weight'", self.errors)
        self.refused(with_header('true'), '9:1: people.csv: ')
        self.assertIn("'weight'", self.errors)
        self.assertIn("'height'", self.errors)
        self.refused(with_header('true'), '11:10: -: file can be read only once: give the header line', arguments=['-'])
        self.write('a.csv', b'name,age,weight\n')
        self.write('b.csv', b'age,name,weight\n')
        self.run_it(with_header('true'), 'a.csv', 'b.csv', status=1)
        self.assertIn("b.csv: header differs from a.csv: 'age,name,weight' and 'name,age,weight'",
                      self.errors)
        self.run_it(with_header('true'), 'none.csv', status=3)

    def test_stages_that_do_not_fit(self):
        source = '[source]\nfiles = ["a"]\n'
        self.refused(source + BATCH + BATCH,
                     "6:1: stage 2 of kind 'batch': elements are already batches of records")
        self.refused(source + LABELS.replace('WORKERS', '0'),
                     "4:1: stage 1 of kind 'parse_example': needs batches: put a "
                     'stage of kind \'batch\' before it')
        labels = LABELS.replace('WORKERS', '0')
        self.refused(source + BATCH + labels + labels,
                     "12:1: stage 3 of kind 'parse_example': elements are already batches of columns")
        self.refused('[source]\nformat = "lines"\nfiles = ["a"]\n' + BATCH + labels,
                     "8:1: stage 2 of kind 'parse_example': lines cannot contain serialized Examples")

    def test_errors_of_the_library_have_a_position(self):
        source = '[source]\nfiles = ["a"]\n'
        self.refused('[source]\nfiles = []\n', "1:1: pipeline 'pipeline', stage 'files': no files: list at least")
        shuffle = '[[stage]]\nkind = "shuffle"\ncapacity = 2\n'
        self.refused(source + shuffle + shuffle,
                     "6:1: pipeline 'pipeline', stage 'shuffle': another stage has the same name")
        self.refused('[source]\nfiles = ["a"]\nshuffle = true\nworld_size = 2\n',
                     "1:1: pipeline 'pipeline', stage 'files': shuffle without a seed on several ranks: set the same seed")
        parse = source + BATCH + '[[stage]]\nkind = "parse_csv"\n'
        self.refused(parse + 'columns = []\n', "6:1: stage 2 of kind 'parse_csv': ")
        self.refused(parse + 'columns = [{ name = "a", dtype = "int64" }, '
                     '{ name = "a", dtype = "int64" }]\n', "6:1: stage 2 of kind 'parse_csv': ")

    def test_columns(self):
        parse = '[source]\nfiles = ["a"]\n' + BATCH + '[[stage]]\nkind = "parse_csv"\ncolumns = ['
        at = "stage 2 of kind 'parse_csv', column 1"
        self.refused(parse + '{ name = "a", dtype = "uint8" }]\n',
                     f"8:34: {at} 'a': dtype: give \"float32\", ")
        self.refused(parse + '{ dtype = "int64" }]\n',
                     f"8:12: {at}: 'name' is missing: give the name of the column")
        self.refused(parse + '{ name = "a", dtype = "int32", default = 3000000000 }]\n',
                     f"8:53: {at} 'a': default: give 1 value of type int32")
        self.refused(parse + '{ name = "a", dtype = "int32", shape = [1] }]\n',
                     f"8:43: {at} 'a': unknown key 'shape': use one of default, dtype, name")
        parse = '[source]\nfiles = ["a"]\n' + BATCH + '[[stage]]\nkind = "parse_example"\nfeatures = ['
        at = "stage 2 of kind 'parse_example', feature 1 'a'"
        self.refused(parse + '{ name = "a", dtype = "int64", shape = [2], default = 1 }]\n',
                     f"8:67: {at}: default: give 2 values of type int64")
        self.refused(parse + '{ name = "a", dtype = "int64", shape = [-1] }]\n', f"8:52: {at}: shape: ")
        self.refused(parse + '{ name = "a", dtype = "int64", kind = "sparse" }]\n',
                     f"8:13: {at}: 'index_keys' is missing", f"8:13: {at}: 'value_key' is missing",
                     f"8:13: {at}: 'size' is missing")

    def test_sequences_that_do_not_fit(self):
        stage = BATCH + '[[stage]]\nkind = "parse_sequence_example"\n'
        parse = '[source]\nfiles = ["a"]\n' + stage
        one = 'sequences = [{ name = "a", dtype = "int64" }]\n'
        at = "stage 2 of kind 'parse_sequence_example'"
        self.refused(parse, f'6:1: {at}: give context or sequences: lists of tables')
        self.refused(parse + one + 'features = []\n', f"9:1: {at}: unknown key 'features': use one of context")
        self.refused(parse + one.replace(' }', ', kind = "ragged" }'),
                     f"8:52: {at}, sequence 1 'a': kind: give \"fixed_len_sequence\" or \"var_len\"")
        self.refused(parse + one + 'context = [{ name = "a", dtype = "int64" }]\n',
                     f"8:13: {at}: sequences: 'a' is also a name in context")
        self.refused('[source]\nformat = "lines"\nfiles = ["a"]\n' + stage + one,
                     f'7:1: {at}: lines cannot contain serialized SequenceExamples')
        self.refused(parse + one, " [output]: column 'a' is int64 [?,?]", arguments=('-o', 'x.csv'))

    def test_outputs_that_do_not_fit(self):
        source = '[source]\nfiles = ["a"]\n'
        self.refused(source + '[output]\nkind = "write"\n', "3:1: [output]: 'path' is missing")
        self.refused(source + '[output]\npath = "x"\n', "4:1: [output]: unknown key 'path'")
        write = source + '[output]\nkind = "write"\npath = '
        self.refused(write + '"x.txt"\nshards = 2\n', '3:1: [output]: shards, max_records and max_bytes apply only to TFRecord files')
        self.refused(write + '"x.tfrecord.gz"\nindex = true\n', '6:9: [output]: index: ')
        self.refused(write + '"x"\ncompression = "auto"\n', '6:15: [output]: compression: ')
        parse = source + BATCH + ('[[stage]]\nkind = "parse_example"\nfeatures = [{ name = "a", '
                                  'dtype = "int64", kind = "KIND", shape = [2] }]\n')
        dense = parse.replace('KIND', 'fixed_len')
        self.refused(dense, " [output]: column 'a' is int64 [?,2], but csv stores one value",
                     arguments=('-o', 'x.csv'))
        self.refused(dense, ' [output]: columns can be written only as csv or', arguments=('-o', 'x.bin'))
        self.refused(parse.replace('KIND', 'fixed_len_sequence'),
                     " [output]: column 'a' is int64 [?,?,2], which an Example cannot store",
                     arguments=('-o', 'x.tfrecord'))


class Failures(RunTest):
    def test_missing_files(self):
        for pattern in ('none', 'none-*', 'none/*'):
            self.run_it(f'[source]\nfiles = ["{pattern}"]\n', status=3, error=pattern.split('/')[0])
        self.write('a', records_file('x'))
        self.run_it('[source]\nfiles = ["a"]\n', '-o', 'none/b', status=3)
        [answer] = self.leat_json('run', 'p.toml', '-o', 'none/b', status=3)
        self.assertEqual(answer['error']['code'], 'not_found')

    def test_damage(self):
        whole = bytearray(records_file('one', 'two', 'three'))
        whole[19 + 13] ^= 1
        self.write('a', bytes(whole))
        text = '[source]\nfiles = ["a"]\n'
        self.run_it(text, '-o', 'b.txt', status=1, error='a, record 1 at offset 19: checksum')
        self.assertNotIn('b.txt', os.listdir(self.folder))
        text += 'on_damage = "resync"\nquarantine = "bad.jsonl"\n'
        self.assertEqual(self.run_it(text, '--print', status=1, error='19 bytes skipped'), 'one\nthree\n')
        self.assertIn('damaged in 1 place', self.errors)
        self.assertEqual(json.loads(self.content('bad.jsonl'))['offset'], 19)
        _, total = self.run_json(text, status=1)
        self.assertEqual((total['records'], total['damaged'], total['lost_bytes']), (2, 1, 19))
        self.run_it(text + 'max_reports = 0\n', status=1)

    def test_max_held(self):
        large = framed(framed(b'within') + bytes(1 << 20))
        self.write('a', gzip.compress(large + framed(b'last')))
        text = '[source]\nfiles = ["a"]\non_damage = "resync"\nmax_record_size = 1000\n'
        self.assertEqual(self.run_it(text, '--print', status=1), 'last\n')
        text += 'max_held = "4 KiB"\n'
        self.assertEqual(self.run_it(text, '--print', status=1), 'within\nlast\n')

    def test_free_output(self):
        self.write('a', gzip.compress(framed(bytes(1 << 16))))
        text = '[source]\nfiles = ["a"]\n'
        self.assertEqual(self.run_it(text), '1 record\n')
        self.run_it(text + 'free_output = "4 KiB"\n', status=1, error='max_ratio')

    def test_regular_only(self):
        self.write('a', records_file('one'))
        text = '[source]\nfiles = ["-", "a"]\nregular_only = true\n'
        self.run_it(text, input=records_file('two'), status=1)
        self.assertIn('not a regular file, but regular_only is set', self.errors)
        self.assertEqual(self.run_it(text.replace('"-", ', ''), '--print'), 'one\n')
        text = text.replace('regular_only = true\n', '')
        self.assertEqual(self.run_it(text, '--print', input=records_file('two')), 'two\none\n')

    def test_max_open_files(self):
        for name in 'abc':
            self.write(name, records_file(name))
        text = '[source]\nformat = "indexed"\nfiles = ["a", "b", "c"]\nshuffle = false\n'
        self.assertEqual(self.run_it(text + 'max_open_files = 1\n', '--print'), 'a\nb\nc\n')
        self.run_it(text + 'max_open_files = 0\n', status=2)

    def test_a_record_that_cannot_be_parsed(self):
        self.write('people.csv', b'name,age,weight\nAda,36,0.1\nGrace,old,2\n')
        for workers in ('', 'workers = 2\n'):
            text = PEOPLE.replace('columns =', workers + 'columns =')
            self.run_it(text, '-o', 'b.csv', status=1)
            self.assertIn("stage 'parse_csv': people.csv:3 at offset 27, byte 7, field 1 ('age')",
                          self.errors)
            self.assertNotIn('b.csv', os.listdir(self.folder))

    def test_memory_budget(self):
        self.write('a.txt', b'line\n' * 1000)
        text = '[pipeline]\nmemory_budget = "SIZE"\n[source]\nformat = "lines"\nfiles = ["a.txt"]\n'
        self.assertEqual(self.run_it(text.replace('SIZE', '64 MiB')), '1000 records\n')
        self.run_it(text.replace('SIZE', '100 KiB'), status=2)
        self.assertIn("p.toml:3:1: pipeline 'pipeline': memory_budget of 102400 bytes is too small",
                      self.errors)

    def test_patience(self):
        read, write = os.pipe()
        text = '[pipeline]\npatience = "50 ms"\n[source]\nformat = "lines"\nfiles = ["-"]\n'
        self.run_it(text, stdin=read, status=3)
        self.assertIn("pipeline 'pipeline': no element for 0.05", self.errors)
        os.close(read)
        os.close(write)

    def test_an_interrupt_leaves_no_files(self):
        self.write_labels(10)
        text = ('[source]\nfiles = ["*.tfrecord"]\nnum_epochs = "endless"\n' + BATCH
                + LABELS.replace('WORKERS', '2') + '[[stage]]\nkind = "prefetch"\nblocks = 2\n')
        self.write('p.toml', text.encode())
        for output in ('b.csv', 'b.tfrecord'):
            process = subprocess.Popen([LEAT, 'run', 'p.toml', '-o', output], cwd=self.folder,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            deadline = time.monotonic() + 30
            while not any('.partial' in name for name in os.listdir(self.folder)):
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.001)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=30)
            self.assertEqual(process.returncode, -signal.SIGINT, errors)
            self.assertEqual(errors, b'')
        self.assertEqual(self.files(), ['0.tfrecord', '1.tfrecord', 'p.toml'])

    def test_a_closed_pipe_ends_the_command_silently(self):
        self.write('a.txt', b'line\n' * 1000)
        self.write('p.toml', b'[source]\nformat = "lines"\nfiles = ["a.txt"]\nnum_epochs = "endless"\n')
        done = subprocess.run(['sh', '-c', '"$0" run p.toml --print | head -n 2', LEAT],
                              capture_output=True, cwd=self.folder, timeout=60)
        self.assertEqual((done.stdout, done.stderr), (b'line\nline\n', b''))


main()
