"""Shared parts of the tests of the command leat: a temporary folder, record files, and the command."""

import functools
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

LEAT = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else 'leat'

TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    TABLE.append(byte)


@functools.lru_cache
def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def framed(payload):
    length = struct.pack('<Q', len(payload))
    return (length + struct.pack('<I', masked_crc(length)) + payload
            + struct.pack('<I', masked_crc(payload)))


def records_file(*payloads):
    return b''.join(framed(p if isinstance(p, bytes) else p.encode()) for p in payloads)


def varint(value):
    value &= (1 << 64) - 1
    out = b''
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, message):
    return varint(number << 3 | 2) + varint(len(message)) + message


def feature(values):
    """A tf.train.Feature of bytes, of floats or of integers."""
    if not values:
        return b''
    if isinstance(values[0], bytes):
        return field(1, b''.join(field(1, v) for v in values))
    if isinstance(values[0], float):
        return field(2, field(1, struct.pack(f'<{len(values)}f', *values)))
    return field(3, field(1, b''.join(varint(v) for v in values)))


def entries(messages):
    """The entries of a map."""
    return b''.join(field(1, field(1, name.encode()) + field(2, message))
                    for name, message in messages.items())


def example(**features):
    """A tf.train.Example; each feature is a list of values."""
    return field(1, entries({name: feature(values) for name, values in features.items()}))


def sequence_example(context, **lists):
    """A tf.train.SequenceExample; each list contains features."""
    return (example(**context)
            + field(2, entries({name: b''.join(field(1, feature(v)) for v in values)
                                for name, values in lists.items()})))


class ToolTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        return str(path)

    def leat(self, *arguments, status=0, **options):
        """Runs the command and returns its output as text; its errors are in self.errors."""
        options.setdefault('stdin', subprocess.DEVNULL)
        if 'input' in options:
            del options['stdin']
        done = subprocess.run([LEAT, *map(str, arguments)], capture_output=True, timeout=60,
                              cwd=self.folder, **options)
        self.errors = done.stderr.decode()
        self.raw = done.stdout
        self.assertEqual(done.returncode, status, f'{arguments}\n{done.stdout}\n{self.errors}')
        return done.stdout.decode(errors='replace')

    def leat_json(self, *arguments, **options):
        """Like leat(), but with --json; returns the object of each line."""
        return [json.loads(line) for line in self.leat(*arguments, '--json', **options).splitlines()]


def main():
    unittest.main(verbosity=1)
