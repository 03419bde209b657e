#!/usr/bin/env python3
"""leat convert, leat repair and leat bench io."""

import csv
import gzip
import io
import os
import signal
import struct
import subprocess
import time
import zlib

from support import LEAT, ToolTest, example, framed, main, records_file, sequence_example


class Convert(ToolTest):
    def test_lines_to_tfrecord_and_back(self):
        self.write('a.txt', b'one\n\nthree\r\nfour')
        self.assertEqual(self.leat('convert', 'a.txt', '-o', 'a.tfrecord'),
                         '4 records in a.tfrecord\n')
        self.assertEqual(self.content('a.tfrecord'), records_file('one', '', 'three', 'four'))
        self.assertEqual(self.converted('a.tfrecord', '-o', 'b.txt'), b'one\n\nthree\nfour\n')
        self.assertEqual(self.files(), ['a.tfrecord', 'a.txt', 'b.txt'])

    def test_compression_depends_on_the_name_or_the_option(self):
        self.write('a.txt', b'one\ntwo\n')
        expected = records_file('one', 'two')
        self.assertEqual(gzip.decompress(self.converted('a.txt', '-o', 'a.tfrecord.gz')), expected)
        self.leat('convert', 'a.txt', '-o', 'z', '--to-compression', 'zlib', '--level', 9)
        self.assertEqual(zlib.decompress(self.content('z')), expected)
        self.assertEqual(gzip.decompress(self.converted('a.tfrecord.gz', '-o', 'b.txt.gz')), b'one\ntwo\n')

    def test_fixed_records(self):
        self.write('a.bin', b'HHaabbccF')
        self.leat('convert', 'a.bin', '--record-size', 2, '--header-size', 2, '--footer-size', 1,
                  '-o', 'a.tfrecord')
        self.assertEqual(self.content('a.tfrecord'), records_file('aa', 'bb', 'cc'))
        self.assertEqual(self.converted('a.tfrecord', '-o', 'b.bin'), b'aabbcc')
        self.leat('convert', 'a.bin', '-o', 'c', status=2, error='need a size: set --record-size')

    def test_a_record_that_the_format_cannot_store_is_rejected(self):
        self.write('a.tfrecord', records_file('fine', 'not\nfine'))
        self.leat('convert', 'a.tfrecord', '-o', 'a.txt', status=1)
        self.assertIn('a.txt: record 1 contains a newline', self.errors)
        self.leat('convert', 'a.tfrecord', '-o', 'a.bin', status=1)
        self.assertIn('a.bin: record 1 has 8 bytes, but earlier records have 4', self.errors)
        for records in (['x', '\r'], ['x', 'ends with\r']):
            self.write('a.tfrecord', records_file(*records))
            self.leat('convert', 'a.tfrecord', '-o', 'a.txt', status=1)
            self.assertIn('a.txt: record 1 ends with a carriage return', self.errors)
        self.write('a.tfrecord', records_file('', ''))
        self.leat('convert', 'a.tfrecord', '-o', 'a.bin', status=1, error='a.bin: record 0 is empty')
        self.assertEqual(self.files(), ['a.tfrecord'])
        self.write('a.tfrecord', records_file('\rx', 'x\ry', ''))
        self.leat('convert', 'a.tfrecord', '-o', 'a.txt')
        self.assertEqual(self.converted('a.txt', '-o', 'b.tfrecord'), self.content('a.tfrecord'))

    def test_records_that_readers_would_decompress_are_rejected(self):
        stored = b'(\xcf\0\xff\x7f\0\x80'  # a window of 1 KiB, and 32767 bytes as they are
        for records, what in (([b'\x1f\x8b\x08abc', b'def678ghi'], 'GZIP'), ([b'x^abcd123', b'def678ghi'], 'ZLIB'),
                              ([b'x\x01a', b'def'], 'ZLIB'), ([stored + b'12', *[b'line 6789'] * 1000], 'ZLIB'),
                              ([stored + b'12', b'too short'], None), ([b'HK345', b'67890'], None)):
            records = [r[:len(records[-1])].ljust(len(records[-1]), b'.') for r in records]
            self.write('a.tfrecord', records_file(*records))
            for name in 'a.txt', 'a.bin':
                compression = []
                if what:
                    self.leat('convert', 'a.tfrecord', '-o', name, status=1)
                    self.assertIn(f'{name}: record 0 begins like a {what} file, which readers would '
                                  'decompress: compress the output', self.errors)
                    self.assertEqual(self.files(), ['a.tfrecord'])
                    compression = ['--to-compression', 'gzip']
                self.leat('convert', 'a.tfrecord', '-o', name, *compression)
                size = ['--record-size', len(records[0])] if name == 'a.bin' else []
                self.assertEqual(self.converted(name, *size, '-o', 'b.tfrecord'), self.content('a.tfrecord'))
                os.remove(self.folder / name)
                os.remove(self.folder / 'b.tfrecord')
        self.write('a.tfrecord', records_file(b'\x1f\x8b\x08', b'def'))
        self.leat('convert', 'a.tfrecord', '--to', 'lines', '-o', '-', status=1)
        self.assertIn('-: record 0 begins like a GZIP file', self.errors)

    def test_the_beginning_of_csv_is_quoted_if_readers_would_decode_it(self):
        stored = b'(\xcf\0\xff\x7f\0\x80'  # a window of 1 KiB, and 32767 bytes as they are
        for value in (b'\xef\xbb\xbfx', b'\xff\xfex', b'\xfe\xff', b'\x1f\x8b\x08x', b'x^', b'x\x01y', b'x\x9c',
                      stored):
            for rest in ({}, {'b': [b'y']}):
                rows = [example(a=[b'x'], **rest)] * 2000
                self.write('a.tfrecord', records_file(example(a=[value], **rest), *rows))
                self.leat('convert', 'a.tfrecord', '--no-header', '-o', 'a.csv')
                self.assertEqual(self.content('a.csv'),
                                 b'"' + value + (b'",y\n' + b'x,y\n' * 2000 if rest else b'"\n' + b'x\n' * 2000))
                self.leat('convert', 'a.csv', '--columns', ','.join(['a', *rest]), '-o', 'b.tfrecord')
                self.assertEqual(self.content('b.tfrecord'), self.content('a.tfrecord'))
        for name in '\ufeffa', 'x^', 'x\x01':
            self.write('a.tfrecord', records_file(example(**{name: [b'v']}), example(**{name: [b'']})))
            self.leat('convert', 'a.tfrecord', '-o', 'a.csv')
            self.assertEqual(self.converted('a.csv', '-o', 'b.tfrecord'), self.content('a.tfrecord'))
        for name in 'a', 'x', 'Hx', 'h,x', 'na\u00efve':  # as usual
            self.write('a.tfrecord', records_file(example(**{name: [b'v']})))
            self.leat('convert', 'a.tfrecord', '--delimiter', 'tab', '-o', 'a.csv')
            self.assertEqual(self.content('a.csv'), name.encode() + b'\nv\n')

    def test_a_single_column_may_have_an_empty_name(self):
        self.write('a.tfrecord', records_file(example(**{'': [b'x']}), example(**{'': [b'']})))
        self.assertEqual(self.converted('a.tfrecord', '-o', 'a.csv'), b'""\nx\n""\n')
        self.assertEqual(self.converted('a.csv', '-o', 'b.tfrecord'), self.content('a.tfrecord'))

    def test_csv(self):
        self.write('a.csv', b'\xef\xbb\xbfage,name\r\n42,"Ada ""L"", x"\n,"two\nlines"\n')
        self.leat('convert', 'a.csv', '-o', 'a.tfrecord')
        examples = self.features('a.tfrecord')
        self.assertEqual(examples, [
            {'age': {'bytes': ['42']}, 'name': {'bytes': ['Ada "L", x']}},
            {'age': {'bytes': ['']}, 'name': {'bytes': ['two\nlines']}}])
        self.leat('convert', 'a.csv', '--columns', 'age:int64,name', '--skip-lines', 1,
                  '-o', 'b.tfrecord')
        examples = self.features('b.tfrecord')
        self.assertEqual([e['age'] for e in examples], [{'int64': [42]}, {'int64': []}])
        self.write('t.csv', b'w\tn\n0.1\t-3\n')
        self.leat('convert', 't.csv', '--delimiter', '\t', '--columns', 'w:float,n:int64',
                  '--skip-lines', 1, '-o', 'c.tfrecord')
        [line] = self.leat_json('cat', '--example', 'c.tfrecord')
        self.leat('convert', 't.csv', '--delimiter', 'tab', '-o', 'd.tfrecord')
        self.assertEqual(self.leat_json('cat', '--example', 'd.tfrecord')[0]['size'], 29)
        self.assertEqual(line['example']['features'], {'w': {'float': [0.1]}, 'n': {'int64': [-3]}})

    def test_csv_from_examples_and_back(self):
        floats = [0.1, 1e20, -0.0, 3.4028235e38, 1e-45, 1.1754944e-38, 16777217.0, 1 / 3,
                  float('inf'), float('-inf'), float('nan')]
        numbers = [0, -1, 2 ** 63 - 1, -2 ** 63]
        texts = [b'', b'plain', b'a,b', b'"', b'say "no"', b'two\nlines', b'two\r\nlines', b'\r',
                 b'\n', b'\r\n', b'\xff\xc3', b' ', '\u00e9'.encode()]
        many = [example(**{'text, all': [texts[i % len(texts)]],
                           'f': [floats[i % len(floats)]] if i % 7 else [],
                           'i': [numbers[i % len(numbers)]] if i % 5 else []})
                for i in range(1, 300)]
        self.write('a.tfrecord', records_file(*many))
        self.assertEqual(self.leat('convert', 'a.tfrecord', '-o', 'a.csv'), '299 records in a.csv\n')
        self.assertTrue(self.content('a.csv').startswith(
            b'f,i,"text, all"\n1e+20,-1,plain\n-0,9223372036854775807,"a,b"\n'))
        rows = list(csv.reader(io.StringIO(self.content('a.csv').decode('latin-1'), newline='')))
        self.assertEqual(rows[0], ['f', 'i', 'text, all'])
        self.assertEqual([row[2].encode('latin-1') for row in rows[1:]],
                         [texts[i % len(texts)] for i in range(1, 300)])
        for row, i in zip(rows[1:], range(1, 300)):
            if i % 7:
                self.assertEqual(struct.pack('<f', float(row[0])),
                                 struct.pack('<f', floats[i % len(floats)]))
        self.write('names.csv', self.content('a.csv').split(b'\n', 1)[1])
        self.leat('convert', 'a.tfrecord', '--no-header', '-o', 'rows.csv')
        self.assertEqual(self.content('rows.csv'), self.content('names.csv'))
        self.leat('convert', 'rows.csv', '--columns', 'f:float,i:int64,t', '-o', 'b.tfrecord')
        back = self.features('b.tfrecord')
        for feature in back:
            feature['text, all'] = feature.pop('t')
        # A feature without values has no kind in one, and none of its kind in the other.
        for feature in back:
            for name in 'fi':
                if [] in feature[name].values():
                    feature[name] = {}
        self.assertEqual(back, self.features('a.tfrecord'))

    def test_columns_of_csv_can_be_chosen(self):
        self.write('a.tfrecord', records_file(example(b=[b'x;"'], a=[1], c=[1.5, 2.5]),
                                              example(a=[2], b=[b'y'], d=[b'more'])))
        self.leat('convert', 'a.tfrecord', '--columns', 'b,a:int64', '--delimiter', ';',
                  '-o', 'a.csv.gz')
        self.assertEqual(gzip.decompress(self.content('a.csv.gz')), b'b;a\n"x;""";1\ny;2\n')
        self.leat('convert', '-', '--from', 'tfrecord', '--to', 'csv', '--columns', 'a', '-o', '-',
                  input=self.content('a.tfrecord'))
        self.assertEqual(self.raw, b'a\n1\n2\n')
        self.write('none.tfrecord', b'')
        self.assertEqual(self.converted('none.tfrecord', '--columns', 'a,b', '-o', 'none.csv'), b'a,b\n')
        self.assertEqual(self.converted('none.tfrecord', '-o', 'none.csv'), b'')

    def test_csv_to_csv(self):
        self.write('1.csv', b'z,a\r\n1,"x\r\ny"\r\n')
        self.write('2.csv', b'a,z\n"in, quotes",2')
        self.leat('convert', '1.csv', '2.csv', '-o', 'all.csv')
        self.assertEqual(self.content('all.csv'), b'z,a\n1,"x\r\ny"\n2,"in, quotes"\n')
        self.write('3.csv', b'z,a\n')
        self.assertEqual(self.converted('3.csv', '-o', 'all.csv'), b'z,a\n')
        self.write('4.csv', b'z,b\n1,2\n')
        self.leat('convert', '1.csv', '4.csv', '-o', 'all.csv', status=1)
        self.assertIn("4.csv, record 0 has no feature 'a', only 'b', 'z'", self.errors)
        self.assertEqual(self.content('all.csv'), b'z,a\n')

    def test_records_that_differ_in_their_features_are_rejected(self):
        first = example(a=[1], b=[b'x'])
        for second, why in [
                (example(a=[1]), "has no feature 'b'"),
                (example(a=[1], b=[b'x'], c=[1]), "has a feature 'c', which the first record lacks"),
                (example(a=[1.5], b=[b'x']), "has feature 'a' of type float, but the column has type int64"),
                (example(a=[1, 2], b=[b'x']), "has 2 values of feature 'a': csv stores one"),
                (example(a=[1], b=[]), "has no value of feature 'b': csv cannot distinguish"),
                (example(), "has no feature 'a'"),
                (sequence_example({'a': [1], 'b': [b'x']}, c=[[1]]), 'is a tf.train.SequenceEx'),
                (b'\xff', 'is not a tf.train.Example')]:
            self.write('a.tfrecord', records_file(*[first] * 20_000, second))
            self.leat('convert', 'a.tfrecord', '-o', 'a.csv', status=1)
            self.assertIn(f'a.tfrecord, record 20000 {why}', self.errors)
            self.assertEqual(self.files(), ['a.tfrecord'])
        self.write('a.tfrecord', records_file(example(a=[]), example(a=[b'x'])))
        self.leat('convert', 'a.tfrecord', '-o', 'a.csv', status=1)
        self.assertIn("record 1 has a text, but an earlier record no value, of feature 'a'", self.errors)
        self.write('a.tfrecord', records_file(example(a=[1])))
        self.leat('convert', 'a.tfrecord', '--columns', 'a:float', '-o', 'a.csv', status=1)
        self.assertIn("record 0 has feature 'a' of type int64, but the column has type float", self.errors)
        self.write('a.tfrecord', records_file(''))
        self.leat('convert', 'a.tfrecord', '-o', 'a.csv', status=1, error='record 0 has no features')

    def test_a_column_that_is_not_utf8_is_a_data_error(self):
        self.write('a.csv', b'a,gr\xfcn\n1,2\n')
        self.leat('convert', 'a.csv', '-o', 'a.tfrecord', status=1)
        self.assertIn("a.csv, line 1: column 'gr\\xfcn' is not UTF-8", self.errors)
        self.assertEqual(self.files(), ['a.csv'])
        self.leat('convert', 'a.csv', '--columns', 'a,b', '--skip-lines', 1, '-o', 'a.tfrecord')
        self.assertEqual(self.leat('count', 'a.tfrecord').split(), ['1', 'a.tfrecord'])

    def test_a_missing_column_is_a_data_error(self):
        self.write('a.tfrecord', records_file(example(a=[1], b=[2])))
        self.write('b.tfrecord', records_file(example(a=[1])))
        self.leat('convert', 'a.tfrecord', '--columns', 'a,x', '-o', 'out.csv', status=1)
        self.assertIn("leat: a.tfrecord, record 0 has no feature 'x', only 'a', 'b': ", self.errors)
        self.leat('convert', 'a.tfrecord', 'b.tfrecord', '--columns', 'a,b', '-o', 'out.csv',
                  status=1)
        self.assertIn("leat: b.tfrecord, record 0 has no feature 'b', only 'a': ", self.errors)
        self.assertEqual(self.files(), ['a.tfrecord', 'b.tfrecord'])

    def test_columns_are_selected_by_the_names_in_the_header(self):
        self.write('a.csv', b'\xef\xbb\xbfname,age,weight\n"Ada, L.",36,1.5\nBob,,2\n')
        self.write('b.csv', b'weight,x,age,name\n3,0,7,Eve\n')
        self.leat('convert', 'a.csv', 'b.csv', '--select', 'weight:float,name', '-o', 'out.csv')
        self.assertEqual(self.content('out.csv'), b'weight,name\n1.5,"Ada, L."\n2,Bob\n3,Eve\n')
        self.leat('convert', 'a.csv', '--select', 'age:int64', '-o', 'a.tfrecord')
        self.assertEqual(self.features('a.tfrecord'),
                         [{'age': {'int64': [36]}}, {'age': {'int64': []}}])
        for header, why in [
                (b'a,b', "line 1: --select: column 'age' is not in the header, which has 'a', 'b'"),
                (b'age,age', "line 1: --select: column 'age' occurs twice in the header"),
                (b'age,b\n1\n', 'line 2, byte 2: number of fields is 1, must be 2'),
                (b'age,b\nx,1\n', "line 2, byte 1, field 0 ('age'): 'x' is not a valid int64")]:
            self.write('c.csv', header)
            self.leat('convert', 'c.csv', '--select', 'age:int64', '-o', 'c.tfrecord', status=1)
            self.assertIn('c.csv, ' + why, self.errors)
        for arguments in (['--select', 'age', '--columns', 'age'], ['--select', 'age,age']):
            self.leat('convert', 'a.csv', '-o', 'x.tfrecord', *arguments, status=2)
        self.leat('convert', 'a.tfrecord', '--select', 'age', '-o', 'x.csv', status=2)

    def test_csv_without_quotes(self):
        # From csv-spectrum, location_coordinates.csv: quotes that are minutes and seconds.
        self.write('a.csv', b'lat,lon\n38\xc2\xb0 53\' 55.133" N,"1\n"",x\n')
        self.leat('convert', 'a.csv', '-o', 'a.tfrecord', status=1)
        self.assertRegex(self.errors, 'quote in an unquoted field: .*set --no-quotes; the record begins in line 2')
        self.leat('convert', 'a.csv', '--no-quotes', '-o', 'a.tfrecord')
        self.assertEqual([line['example']['features']['lat']['bytes'] for line in
                          self.leat_json('cat', '--example', 'a.tfrecord')],
                         [['38\xb0 53\' 55.133" N'], ['""']])
        self.leat('convert', 'a.tfrecord', '--no-quotes', '-o', 'x.csv', status=2)

    def test_rows_of_csv_end_with_any_line_end(self):
        for text in (b'a,b\r1,2\r3,4\r', b'a,b\r1,2\r3,4', b'a,b\n1,2\r3,4\n', b'a,b\r\n1,2\r\n3,4\r\n',
                     b'\xef\xbb\xbfa,b\r1,2\r3,4\r', b'\n\na,b\n\n1,2\n\n\n3,4\n\n'):
            self.write('a.csv', text)
            self.leat('convert', 'a.csv', '--select', 'b:int64,a', '-o', 'b.csv')
            self.assertEqual(self.content('b.csv'), b'b,a\n2,1\n4,3\n')

    def test_a_blank_line_is_a_row_of_one_column(self):
        self.write('a.csv', b'a\n1\n\n3\n')
        for kind, flags in ('int64', []), ('float', []), ('bytes', ['--no-quotes']):
            self.leat('convert', 'a.csv', '--select', 'a:' + kind, *flags, '-o', 'b.csv')
            self.assertEqual(self.content('b.csv'), b'a\n1\n""\n3\n')

    def test_csv_in_utf_16_is_refused_as_such(self):
        for codec in 'utf-16', 'utf-32':
            self.write('a.csv', 'a,b\n1,2\n'.encode(codec))
            self.leat('convert', 'a.csv', '-o', 'a.tfrecord', status=1)
            self.assertIn('a.csv, record 0 at offset 0: text is UTF-16: convert the file to UTF-8', self.errors)

    def test_records_of_csv_above_the_limit(self):
        self.write('a.csv', b'a,b\n1,"' + b'2\n' * 100 + b'"\n')
        self.leat('convert', 'a.csv', '--max-record-size', 100, '-o', 'a.tfrecord', status=1)
        self.assertIn('record 1 at offset 4: record is larger than the limit max_record_size of 100', self.errors)
        self.leat('convert', 'a.csv', '-o', 'a.tfrecord')

    def test_corrupt_rows_of_csv_can_be_skipped(self):
        self.write('a.csv', b'a,b\n1,"x\n2,y\n3,"z"\n')
        self.leat('convert', 'a.csv', '--on-damage', 'skip', '-o', 'b.csv', status=1, error='record 1 at offset 4')
        self.assertEqual(self.content('b.csv'), b'a,b\n2,y\n3,z\n')

    def test_conversions_to_csv_that_are_rejected(self):
        self.write('a.tfrecord', records_file(example(a=[1])))
        self.write('a.txt', b'x\n')
        for arguments in (['a.txt', '-o', 'a.csv'], ['a.tfrecord', 'a.txt', '-o', 'a.csv'],
                          ['a.tfrecord', '-o', 'a.csv', '--shards', 2],
                          ['a.tfrecord', '-o', 'a.csv', '--index'],
                          ['a.tfrecord', '-o', 'a.csv', '--delimiter', '"'],
                          ['a.txt', '-o', 'b.tfrecord', '--no-header']):
            self.leat('convert', *arguments, status=2)
        self.assertEqual(self.files(), ['a.tfrecord', 'a.txt'])

    def test_csv_errors_contain_the_line(self):
        for text, message in [
                (b'a,b\n1,2\n1\n', 'a.csv, line 3, byte 2: number of fields is 1, must be 2'),
                (b'a,b\r"1\n2",\r\n\n1\r', 'a.csv, line 5, byte 2: number of fields is 1, must be 2'),
                (b'a,b\n1,2,3\n', 'line 2, byte 5: number of fields is 3, must be 2'),
                (b'a,b,a\n1,2,3\n', "line 1: column 'a' occurs twice in the header"),
                (b'a,b\n1,"2\n', 'record 1 at offset 4: byte 3: quoted field has no closing quote; the record '
                 'begins in line 2'),
                (b'a,b\n1,"2"3\n', 'byte 5: quote in a quoted field'),
                (b'a,b\n1,2"3\n', 'byte 4: quote in an unquoted field')]:
            self.write('a.csv', text)
            self.leat('convert', 'a.csv', '-o', 'a.tfrecord', status=1, error=message)
            self.assertEqual(self.files(), ['a.csv'])
        self.write('a.csv', b'1,x\n')
        self.leat('convert', 'a.csv', '--columns', 'a:int64,b:int64', '-o', 'b', status=1)
        self.assertIn("a.csv, line 1, byte 3, field 1 ('b'): 'x' is not a valid int64", self.errors)
        self.leat('convert', 'a.csv', '--skip-lines', 1, '--columns', 'a', '-o', 'b')
        self.write('a.csv', b'title\na,b\n1\n')
        self.leat('convert', 'a.csv', '--skip-lines', 1, '-o', 'b', status=1)
        self.assertIn('a.csv, line 3, byte 2: number of fields is 1, must be 2', self.errors)
        for columns in ('', 'a:int32', ':int64', 'a,,b', 'a:int64,b,a:float'):
            self.leat('convert', 'a.csv', '--columns', columns, '-o', 'b', status=2)
        self.leat('convert', 'a.csv', '--select', '', '-o', 'b', status=2)
        self.assertIn("--select: give columns such as name:int64", self.errors)

    def test_several_files_become_one_and_one_becomes_several(self):
        for i in range(3):
            self.write(f'{i}.txt', b''.join(b'%d.%d\n' % (i, k) for k in range(10)))
        self.leat('convert', '?.txt', '-o', 'all.tfrecord')
        expected = [f'{i}.{k}' for i in range(3) for k in range(10)]
        self.assertEqual(self.content('all.tfrecord'), records_file(*expected))
        [answer] = self.leat_json('convert', 'all.tfrecord', '--max-records', 8, '-o', 'part')
        self.assertEqual(answer['outputs'], [f'part-0000{i}-of-00004.tfrecord' for i in range(4)])
        self.assertEqual(answer['records'], 30)
        self.assertEqual(self.leat('cat', 'part-*').split(), expected)
        self.leat('convert', 'all.tfrecord', '--shards', 2, '--to-compression', 'gzip', '--index',
                  '-o', 'x', status=2)
        self.leat('convert', 'all.tfrecord', '--shards', 2, '--index', '-o', 'deal')
        self.assertEqual(self.leat('count', 'deal-*.tfrecord').split()[0:5:2],
                         ['15', '15', '30'])
        self.leat('index', '--check', 'deal-*.tfrecord')

    def test_pipes(self):
        self.leat('convert', '--from', 'lines', '-', '-o', '-', input=b'one\ntwo\n')
        self.assertEqual(self.raw, records_file('one', 'two'))
        self.leat('convert', '--from', 'tfrecord', '--to', 'lines', '--to-compression', 'gzip',
                  '-o', '-', input=self.raw)
        self.assertEqual(gzip.decompress(self.raw), b'one\ntwo\n')
        self.leat('convert', '--from', 'lines', '-o', '-', '--json', status=2)
        self.leat('convert', '-o', 'x', status=2, error='unknown format: set --from')

    def test_damage_is_an_error_unless_on_damage_continues(self):
        whole = bytearray(records_file('one', 'two', 'three'))
        whole[19 + 13] ^= 1
        self.write('a.tfrecord', bytes(whole))
        self.leat('convert', 'a.tfrecord', '-o', 'a.txt', status=1)
        self.assertEqual(self.files(), ['a.tfrecord'])
        [answer] = self.leat_json('convert', 'a.tfrecord', '--on-damage', 'resync', '-o', 'a.txt',
                                  status=1)
        self.assertEqual((answer['records'], answer['damaged'], answer['lost_bytes']), (2, 1, 19))
        self.assertEqual(self.content('a.txt'), b'one\nthree\n')

    def test_incomplete_fixed_records_are_reported(self):
        self.write('f.bin', b'abcdefgh')
        [answer] = self.leat_json('convert', 'f.bin', '--record-size', 3, '-o', 'f.txt', status=1)
        self.assertEqual((answer['records'], answer['damaged'], answer['lost_bytes']), (2, 0, 2))
        self.assertIn('f.bin: incomplete last record: skipped 2 bytes', self.errors)
        self.assertEqual(self.content('f.txt'), b'abc\ndef\n')
        self.leat('convert', 'f.bin', '--record-size', 7, '-o', 'f.txt', status=1)
        self.assertEqual(self.errors,
                         'leat: f.bin: incomplete last record: skipped 1 byte\n')

    def test_a_failed_conversion_keeps_the_existing_file(self):
        self.write('a.txt', b'new\n')
        self.write('out.tfrecord', b'old')
        self.leat('convert', 'a.txt', 'none.txt', '-o', 'out.tfrecord', status=3)
        self.assertEqual(self.content('out.tfrecord'), b'old')
        self.assertEqual(self.converted('a.txt', '-o', 'out.tfrecord'), records_file('new'))
        self.leat('convert', 'a.txt', '-o', 'a.txt', status=2)

    def test_no_input_is_replaced(self):
        names = ['s-00000-of-00002.tfrecord', 's-00001-of-00002.tfrecord']
        for name in [*names, 'a.tfrecord.index', 's-00002-of-00003.tfrecord.index']:
            self.write(name, records_file(*(f'record {i}' for i in range(9))))
        os.symlink(names[0], self.folder / 'link')
        there = {name: self.content(name) for name in self.files()}
        for wrong in ([names[0], '-o', 's', '--shards', 2], [names[1], '-o', 's', '--max-records', 5],
                      [names[0], '-o', f'../{self.folder.name}/s', '--shards', 2],
                      [self.folder / names[0], '-o', 's', '--max-bytes', 50],
                      ['link', '-o', 's', '--shards', 2], [*names, '-o', 'link'],
                      ['a.tfrecord.index', '-o', 'a.tfrecord', '--index'],
                      ['s-00002-of-00003.tfrecord.index', '-o', 's', '--shards', 3, '--index']):
            self.leat('convert', '--from', 'tfrecord', *wrong, status=2)
            self.assertIn(f'{wrong[0]}: output would replace this input file', self.errors)
            self.assertEqual({name: self.content(name) for name in self.files()}, there)
        self.leat('convert', *names, '-o', 's', '--shards', 3)  # a set of another size
        self.leat('convert', names[0], '-o', 's', '--shards', 2, '--to-compression', 'gzip')
        self.leat('convert', names[0], '-o', 'S', '--max-records', 5)
        self.assertEqual(there, {name: self.content(name) for name in there})

    def test_shards_excludes_limits_of_a_file(self):
        self.write('a.txt', b'x\n')
        for limit in ('--max-records', '--max-bytes'):
            self.leat('convert', 'a.txt', '-o', 's', '--shards', 2, limit, 5, status=2)
            self.assertIn('--shards cannot be combined with --max-records or --max-bytes', self.errors)

    def interrupted(self, *arguments):
        """Begins a conversion of standard input, interrupts it, gives its errors."""
        process = subprocess.Popen([LEAT, 'convert', '--from', 'lines', *arguments], bufsize=0,
                                   cwd=self.folder, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdin.write(b'line\n' * 100_000)
        deadline = time.monotonic() + 30
        while not any('.partial' in name for name in self.files()):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(30), -signal.SIGINT)
        errors = process.stderr.read()
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()
        return errors

    def test_an_interrupt_leaves_nothing(self):
        self.assertEqual(self.interrupted('-o', 'a.tfrecord'), b'')
        self.assertEqual(self.interrupted('-o', 'a.txt'), b'')
        self.assertEqual(self.interrupted('-o', 'a', '--max-records', '1000'), b'')
        self.assertEqual(self.files(), [])


class Repair(ToolTest):
    def setUp(self):
        super().setUp()
        whole = bytearray(records_file(*(f'record {i}' for i in range(10))))
        whole[24 * 2 + 14] ^= 1
        whole[24 * 5] ^= 1
        self.damaged = bytes(whole[:-3])
        self.good = records_file(*(f'record {i}' for i in (0, 1, 3, 4, 6, 7, 8)))
        self.write('a', self.damaged)

    def test_intact_records_are_copied_to_a_new_file(self):
        text = self.leat('repair', 'a', '-o', 'b')
        self.assertIn('repaired b: 7 records; skipped: 69 bytes in 3 places', text)
        self.assertIn('a, record 2 at offset 48', self.errors)
        self.assertEqual(self.content('b'), self.good)
        self.assertEqual(self.content('a'), self.damaged)
        self.assertEqual(self.leat_json('repair', 'b', '-o', 'c'), [
            {'path': 'b', 'output': 'c', 'records': 7, 'damaged': 0, 'lost_bytes': 0}])

    def test_the_damaged_file_is_not_overwritten(self):
        os.symlink('a', self.folder / 'link')
        os.link(self.folder / 'a', self.folder / 'hard')
        for old, new in (('a', 'a'), ('a', './a'), ('link', 'a'), ('a', 'link'), ('a', 'hard')):
            self.leat('repair', old, '-o', new, status=2)
            self.assertIn(f'{old}: output would replace this input file', self.errors)
        with open(self.folder / 'a', 'rb') as damaged:
            self.leat('repair', '-', '-o', 'a', stdin=damaged, status=2)
        self.assertEqual(self.content('a'), self.damaged)
        self.assertTrue((self.folder / 'link').is_symlink())

    def test_in_place(self):
        text = self.leat('repair', '--in-place', 'a')
        self.assertIn('69 bytes in 3 places; original kept as a.damaged\n', text)
        self.assertEqual(self.content('a'), self.good)
        self.assertEqual(self.content('a.damaged'), self.damaged)
        before = os.stat(self.folder / 'a')
        self.assertIn('no damage found', self.leat('repair', '--in-place', 'a'))
        self.assertEqual(os.stat(self.folder / 'a').st_mtime_ns, before.st_mtime_ns)
        self.assertEqual(self.files(), ['a', 'a.damaged'])

    def test_a_kept_file_is_never_overwritten(self):
        self.write('a.damaged', b'of an earlier time')
        os.symlink('none', self.folder / 'a.damaged1')
        [answer] = self.leat_json('repair', '--in-place', 'a')
        self.assertEqual(answer['kept'], 'a.damaged2')
        self.assertEqual(self.content('a'), self.good)
        self.assertEqual(self.content('a.damaged'), b'of an earlier time')
        self.assertEqual(self.content('a.damaged2'), self.damaged)

    def test_in_place_keeps_links_mode_and_owner(self):
        (self.folder / 'sub').mkdir()
        os.rename(self.folder / 'a', self.folder / 'sub' / 'a')
        os.symlink('sub/a', self.folder / 'near')
        os.symlink(self.folder / 'near', self.folder / 'link')
        os.chmod(self.folder / 'sub' / 'a', 0o640)
        if os.geteuid() == 0:
            os.chown(self.folder / 'sub' / 'a', 1000, 1001)
        before = os.stat(self.folder / 'sub' / 'a')
        [answer] = self.leat_json('repair', '--in-place', 'link')
        self.assertEqual((answer['path'], answer['output']), ('link', 'link'))
        self.assertTrue(os.path.samefile(self.folder / answer['kept'],
                                         self.folder / 'sub' / 'a.damaged'))
        self.assertEqual(os.readlink(self.folder / 'link'), str(self.folder / 'near'))
        self.assertEqual(os.readlink(self.folder / 'near'), 'sub/a')
        self.assertEqual(self.content('sub/a'), self.good)
        self.assertEqual(self.content('sub/a.damaged'), self.damaged)
        after = os.stat(self.folder / 'sub' / 'a')
        for fact in ('st_mode', 'st_uid', 'st_gid'):
            self.assertEqual(getattr(after, fact), getattr(before, fact), fact)

    def test_only_regular_files_are_replaced(self):
        os.mkfifo(self.folder / 'pipe')
        os.symlink('pipe', self.folder / 'link')
        for name in ('pipe', 'link', '.'):
            self.leat('repair', '--in-place', name, status=1)
            self.assertIn(f'{name}: not a regular file: use --output instead of --in-place', self.errors)
        os.symlink('none', self.folder / 'nowhere')
        for name in ('none', 'nowhere'):
            self.leat('repair', '--in-place', name, status=3)
            self.assertIn(f'{name}: cannot get the status: No such file', self.errors)

    def test_a_file_without_intact_records_is_unchanged(self):
        for name, content in [('text', b'no TFRecord file'), ('zeros', b'\0' * 100_000),
                              ('g', gzip.compress(b'none either' * 100)),
                              ('cut', framed(b'the only record')[:-1])]:
            self.write(name, content)
            self.write('b', b'old')
            for to in (['--in-place'], ['-o', 'b'], ['-o', '-']):
                self.assertEqual(self.leat('repair', name, *to, status=1), '')
                self.assertIn(f'{name}: no intact record found: output not written', self.errors)
            self.assertEqual(self.content(name), content)
            self.assertEqual(self.content('b'), b'old')
            self.assertEqual(self.files(), ['a', 'b', name])
            os.remove(self.folder / name)
        self.write('empty', b'')
        self.leat('repair', '--in-place', 'empty')

    def test_a_compressed_file_stays_compressed(self):
        self.write('g', gzip.compress(self.damaged))
        self.leat('repair', '--in-place', 'g')
        self.assertEqual(gzip.decompress(self.content('g')), self.good)
        self.write('cut', gzip.compress(records_file(*map(str, range(3000))))[:-2000])
        self.leat('repair', '-o', 'h', 'cut')
        self.assertTrue(records_file(*map(str, range(3000))).startswith(
            gzip.decompress(self.content('h'))))

    def test_a_torn_record_does_not_affect_others(self):
        first, torn = records_file('first'), records_file('z' * 5000)
        behind = [f'record {i}' for i in range(100)]
        self.good = first + records_file(*behind)
        for there in (5, 12, 100, 4999):
            self.write('t', first + torn[:there] + records_file(*behind))
            self.leat('repair', 't', '-o', 'b')
            self.assertEqual(self.content('b'), self.good)
            self.write('g', gzip.compress(self.content('t')))
            for name in ('t', 'g'):
                verdict, = self.leat_json('verify', name, status=1)
                self.assertEqual((verdict['records'], verdict['damaged'], verdict['lost_bytes']),
                                 (101, 1, there))

    def test_pipes_and_usage(self):
        self.leat('repair', '-', '-o', '-', input=self.damaged)
        self.assertEqual(self.raw, self.good)
        for wrong in (['a'], ['a', '-o', 'b', '--in-place'], ['-', '--in-place'],
                      ['a', 'a', '-o', 'b'], ['a', '--roll-back', '-o', 'b']):
            self.leat('repair', *wrong, status=2)

    def test_roll_back(self):
        self.write('b', records_file('x'))
        self.assertEqual(self.leat_json('repair', '--roll-back', 'b'),
                         [{'path': 'b', 'rolled_back': False}])


class BenchIo(ToolTest):
    def test_each_way_to_read_is_measured(self):
        self.write('a', os.urandom(2 << 20))
        lines = self.leat_json('bench', 'io', '--seconds', '0.01', 'a')
        self.assertIn('threads', {line['backend'] for line in lines})
        ways = [line for line in lines if line['backend'] == 'threads']
        self.assertEqual(len(ways), 12)
        for line in lines:
            self.assertGreater(line['reads'], 0)
            self.assertGreater(line['bytes_per_second'], 0)
            self.assertLessEqual(line['p50_us'], line['p99_us'])
        self.assertIn('sequential', self.leat('bench', 'io', '--seconds', '0.01', 'a'))

    def test_usage(self):
        self.leat('bench', status=2)
        self.leat('bench', 'io', status=2)
        self.write('small', b'x')
        self.leat('bench', 'io', 'small', status=2, error='not a regular file of at least 256.0 KiB')
        os.mkfifo(self.folder / 'pipe')
        self.leat('bench', 'io', 'pipe', status=2)  # does not wait for a writer
        self.leat('bench', 'io', 'none', status=3)
        self.assertEqual(self.raw, b'')


main()
