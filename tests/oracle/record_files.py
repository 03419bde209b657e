#!/usr/bin/env python3
"""Exchanges TFRecord files in every compression between leat and Python. Python uses only zlib, gzip
and struct. Each reads the files of the other.

    record_files.py RECORD_FILES
"""

import gzip
import pathlib
import random
import subprocess
import sys
import tempfile
import zlib

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / 'support'))
from tfrecord_bytes import framed, unframed

program = sys.argv[1]


def members(plain):
    """Compresses pieces as separate members, and appends zeros to the last one."""
    cuts = sorted(chance.randrange(len(plain) + 1) for _ in range(3))
    pieces = [plain[a:b] for a, b in zip([0, *cuts], [*cuts, len(plain)])]
    return b''.join(map(gzip.compress, pieces)) + bytes(chance.randrange(600))


def deflated(bits, level, strategy):
    def compress(plain):
        deflater = zlib.compressobj(level, zlib.DEFLATED, bits, 9, strategy)
        half = len(plain) // 2
        return (deflater.compress(plain[:half]) + deflater.flush(zlib.Z_FULL_FLUSH)
                + deflater.compress(plain[half:]) + deflater.flush())
    return compress


chance = random.Random(1)
words = [bytes(chance.choices(b'abcdefgh', k=chance.randrange(1, 9))) for _ in range(100)]
records = [b'', b'abc', bytes(1000), chance.randbytes(3000)]
records += [b' '.join(chance.choices(words, k=chance.randrange(50))) for _ in range(200)]
plain = b''.join(map(framed, records))
lines = ''.join(record.hex() + '\n' for record in records)

writers = [('none', bytes), ('GZIP', gzip.compress), ('GZIP', members), ('ZLIB', zlib.compress)]
for level in (0, 1, 9):
    for strategy in (zlib.Z_DEFAULT_STRATEGY, zlib.Z_FIXED, zlib.Z_HUFFMAN_ONLY, zlib.Z_RLE):
        writers += [('ZLIB', deflated(15, level, strategy)), ('ZLIB', deflated(9, level, strategy)),
                    ('GZIP', deflated(31, level, strategy))]
readers = {'none': bytes, 'GZIP': gzip.decompress, 'ZLIB': zlib.decompress}

with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder, 'file')
    for name, compress in writers:
        path.write_bytes(compress(plain))
        done = subprocess.run([program, 'read', name, path], capture_output=True, text=True)
        if done.returncode != 0 or done.stdout != lines:
            sys.exit(f'leat reads something else of a {name} file: {done.stderr}')
    for name, decompress in readers.items():
        subprocess.run([program, 'write', name, path], input=lines, text=True, check=True)
        if unframed(decompress(path.read_bytes())) != records:
            sys.exit(f'Python reads something else of a {name} file')
print(f'{len(writers)} files of Python read, {len(readers)} written for it')
