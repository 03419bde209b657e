#!/usr/bin/env python3
"""Compares csv_decoder with Python's csv: it reads the text that Python writes, and reads any text as
Python does."""

import collections
import csv
import io
import os
import random
import struct
import subprocess
import sys

# A campaign sets these.
SEED = int(os.environ.get('LEAT_SEED', 0))
TIMES = int(os.environ.get('LEAT_TIMES', 1))
ALPHABET = ['a', 'b', '1', ' ', '"', '""', ',', ';', '\t', '\n', '\r', '\0', 'ä', "'", '.']


def field(rng):
    return ''.join(rng.choice(ALPHABET) for _ in range(rng.choice([0, 1, 2, 5, 70])))


def piece(rng):
    """A field, correctly quoted or raw."""
    text = field(rng)
    return '"' + text.replace('"', '""') + '"' if rng.random() < 0.6 else text


def written(row, delimiter, quoting):
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, quoting=quoting, lineterminator='\r\n').writerow(row)
    return out.getvalue()[:-2]


def read(text, delimiter):
    """Returns the fields that Python reads from one record; None unless there is exactly one record."""
    try:
        rows = list(csv.reader(io.StringIO(text, newline=''), delimiter=delimiter, strict=True))
    except csv.Error:
        return None
    return rows[0] if len(rows) == 1 else None


def cases(rng):
    """Yields delimiter, text and fields; None as fields if a refusal is correct too."""
    count = 10000 * TIMES
    for _ in range(count):
        delimiter = rng.choice(',;\t')
        row = [field(rng) for _ in range(rng.randint(1, 6))]
        quoting = rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
        if '\0' in ''.join(row) and sys.version_info < (3, 11):
            continue
        yield delimiter, written(row, delimiter, quoting), row
    for _ in range(count):
        yield rng.choice(',;'), field(rng) + rng.choice(['', ',', ';']) + field(rng), None
        # Neither parser interprets a byte order mark: it is three bytes of the first field.
        mark = rng.choice(['', '', '', '\ufeff'])
        yield ',', mark + ','.join(piece(rng) for _ in range(rng.randint(1, 3))), None


def frames(output):
    at = 0
    while at < len(output):
        count, = struct.unpack_from('<I', output, at)
        at += 4
        if count == 2**32 - 1:
            yield None
            continue
        fields = []
        for _ in range(count):
            size, = struct.unpack_from('<I', output, at)
            fields.append(output[at + 4:at + 4 + size].decode())
            at += 4 + size
        yield fields


def main():
    program, = sys.argv[1:]
    sent = []
    stdin = []
    for delimiter, text, row in cases(random.Random(1 + SEED)):
        expected = row if row is not None else read(text, delimiter)
        bytes_ = text.encode()
        stdin += [struct.pack('<cII', delimiter.encode(), len(expected or ['']), len(bytes_)), bytes_]
        sent.append((delimiter, text, row, expected))
    output = subprocess.run([program], input=b''.join(stdin), stdout=subprocess.PIPE, check=True).stdout
    results = list(frames(output))
    assert len(results) == len(sent), (len(results), len(sent))
    accepted = collections.Counter()
    for (delimiter, text, row, expected), fields in zip(sent, results):
        if row is not None:
            assert fields == row, (delimiter, text, row, fields)
        elif fields is not None and expected is not None:
            # The decoder skips a line end before a field. Python ends the record there, and thus
            # reads more than one record.
            assert fields == expected, (delimiter, text, expected, fields)
            accepted['all'] += 1
            accepted.update({c for c in text if c in '\r\n\0\ufeff'})
    wanted = {'all': 1000, '\r': 500, '\n': 500, '\ufeff': 300}
    if sys.version_info >= (3, 11):  # in earlier versions a NUL is an error
        wanted['\0'] = 500
    assert all(accepted[c] > n for c, n in wanted.items()), accepted
    print(f'{len(sent)} records')


if __name__ == '__main__':
    main()
