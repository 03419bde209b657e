#!/usr/bin/env python3
"""Compares how leat and the csv module of Python read csv: rows that Python writes are read unchanged, and any other
text is read like Python reads it, or rejected."""

import csv
import io
import math
import os
import random
import struct

from support import ToolTest, example, main, records_file

# A campaign sets these variables.
SEED = int(os.environ.get('LEAT_SEED', 0))
TIMES = int(os.environ.get('LEAT_TIMES', 1))
ALPHABET = ['a', 'b', '1', ' ', '"', '""', ',', ';', '\t', '\n', '\r\n', 'ä', "'", '.']


def field(rng, alphabet):
    return ''.join(rng.choice(alphabet) for _ in range(rng.choice([0, 1, 2, 5, 70])))


def read(text, delimiter, count):
    """Returns the rows that Python reads, or None if it rejects the text. Python returns no fields for
    a blank line; in a table of one column, such a line is a row with one empty field."""
    try:
        rows = list(csv.reader(io.StringIO(text, newline=''), delimiter=delimiter, strict=True))
        return [row or [''] for row in rows if row or count == 1]
    except csv.Error:
        return None


def columns(count):
    return [f'c{i}' for i in range(count)]


def records(rows):
    """Returns the file that leat writes for the rows."""
    return records_file(*(example(**{name: [text.encode()] for name, text in
                                     zip(columns(len(row)), row)}) for row in rows))


class Rows(ToolTest):
    def convert(self, text, delimiter, count, status=0):
        self.write('a.csv', text.encode())
        self.leat('convert', 'a.csv', '--delimiter', delimiter, '--columns',
                  ','.join(columns(count)), '-o', 'a.tfrecord', status=status)
        path = self.folder / 'a.tfrecord'
        return path.read_bytes() if path.exists() else None

    def test_rows_that_python_writes(self):
        rng = random.Random(1 + SEED)
        for _ in range(20 * TIMES):
            delimiter = rng.choice(',;\t')
            count = rng.randint(2, 6)  # Python writes a row of one empty field as two quotes
            end = rng.choice(['\n', '\r\n'])
            # Python does not quote a carriage return if rows end with a newline.
            alphabet = ALPHABET + ['\r'] if end == '\r\n' else [c for c in ALPHABET if '\r' not in c]
            rows = [[field(rng, alphabet) for _ in range(count)] for _ in range(100)]
            out = io.StringIO()
            csv.writer(out, delimiter=delimiter, lineterminator=end,
                       quoting=rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])).writerows(rows)
            self.assertEqual(self.convert(out.getvalue(), delimiter, count), records(rows))

    def test_any_text(self):
        """Rightly quoted fields, and others as they come. Python reads a quote within a field that has
        none around it; leat refuses it."""
        rng = random.Random(2 + SEED)
        accepted = refused = 0
        for _ in range(100 * TIMES):
            delimiter = rng.choice(',;')
            count = rng.randint(1, 3)
            plain = [c for c in ALPHABET if '"' not in c]

            def piece():
                kind = rng.random()
                if kind < 0.6:
                    return '"' + field(rng, ALPHABET + ['\r']).replace('"', '""') + '"'
                if kind < 0.63:
                    return '"' + field(rng, ALPHABET)
                return field(rng, [c for c in plain if c != delimiter and '\n' not in c])

            text = ''.join(delimiter.join(piece() for _ in range(count))
                           + rng.choice(['\n', '\n\n', '\r\n', '\r']) for _ in range(rng.randint(1, 6)))
            rows = read(text, delimiter, count)
            whole = rows is not None and all(len(row) == count for row in rows)
            made = self.convert(text, delimiter, count, status=0 if whole else 1)
            if whole:
                self.assertEqual(made, records(rows), (delimiter, text))
                accepted += 1
            else:
                self.assertRegex(self.errors, r'a\.csv, (line|record) ')
                refused += 1
            (self.folder / 'a.tfrecord').unlink(missing_ok=True)
        self.assertGreater(accepted, 30)
        self.assertGreater(refused, 5)

    def test_numbers(self):
        """A float is a float of Python, without underscores, or hexadecimal."""
        for text in ['1', ' 1 ', '+1.5', '-1.5', '\t-.5e1 ', '5.', '1e-50', '1e39', '-1e39', '1e-45', 'inf',
                     '-Infinity', 'NAN', '+nan', '0x1.8p1', '-0X10', '0x', 'nan(1)', '1_0', '1e', '--1', '1,5', 'x', ' ']:
            try:
                value = float.fromhex(text) if 'x' in text.lower() else float(text.replace('_', 'x'))
            except ValueError:
                value = None
            try:
                packed = value is not None and struct.pack('<f', value)
            except OverflowError:
                packed = struct.pack('<f', math.copysign(math.inf, value))
            self.write('a.csv', f'"{text}"\n'.encode())
            self.leat('convert', 'a.csv', '--columns', 'c:float', '-o', 'b.csv', status=0 if packed else 1)
            if not packed:
                self.assertIn('is not a valid float32', self.errors)
                continue
            read_back = float((self.folder / 'b.csv').read_text().split()[1])
            self.assertTrue(struct.pack('<f', read_back) == packed or value != value, (text, read_back))
        for text in ['7', ' 7 ', '-7', '+7', '7.0', '0x7', str(2 ** 63)]:
            self.write('a.csv', text.encode())
            self.leat('convert', 'a.csv', '--columns', 'c:int64', '-o', 'b.csv',
                      status=0 if text.strip() in ('7', '-7') else 1)


if __name__ == '__main__':
    main()
