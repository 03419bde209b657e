"""Shared parts of the tests of the command leat: a temporary folder, record files, and the command."""

import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / 'support'))
from tfrecord_bytes import crc32c, framed, masked_crc  # noqa: E402, F401

LEAT = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else 'leat'


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

    def content(self, name):
        return (self.folder / name).read_bytes()

    def files(self):
        return sorted(os.listdir(self.folder))

    def leat(self, *arguments, status=0, error='', **options):
        """Runs the command and returns its output as text. Its errors, which must contain `error`, are in self.errors."""
        options.setdefault('stdin', subprocess.DEVNULL)
        if 'input' in options:
            del options['stdin']
        done = subprocess.run([LEAT, *map(str, arguments)], capture_output=True, timeout=60,
                              cwd=self.folder, **options)
        self.errors = done.stderr.decode()
        self.raw = done.stdout
        self.assertEqual(done.returncode, status, f'{arguments}\n{done.stdout}\n{self.errors}')
        self.assertIn(error, self.errors)
        return done.stdout.decode(errors='replace')

    def leat_json(self, *arguments, **options):
        """Like leat(), but with --json; returns the object of each line."""
        return [json.loads(line) for line in self.leat(*arguments, '--json', **options).splitlines()]

    def converted(self, *arguments, **options):
        """Runs leat convert and returns the content of its output, which is the last argument."""
        self.leat('convert', *arguments, **options)
        return self.content(arguments[-1])

    def features(self, name):
        """The features of each Example in a file."""
        return [line['example']['features'] for line in self.leat_json('cat', '--example', name)]


def main():
    unittest.main(verbosity=1)
