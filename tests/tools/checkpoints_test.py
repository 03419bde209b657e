#!/usr/bin/env python3
"""leat checkpoints: the list, the entries of a file, the check of all values, and pruning."""

import fcntl
import os
import struct

from support import ToolTest, crc32c, main


def checkpoint(identity='model', **values):
    """The format of docs/formats/checkpoint.md; each value is (type, size of an element, bytes)."""
    size = 40 + 2 + len(identity) + sum(28 + len(n) + len(t) for n, (t, _, _) in values.items())
    table = struct.pack('<H', len(identity)) + identity.encode()
    offset = size
    for name, (kind, element, data) in values.items():
        table += struct.pack('<HHIQQI', len(name), len(kind), element, offset, len(data),
                             crc32c(data)) + (name + kind).encode()
        offset += len(data)
    head = b'\x89LCK\r\n\x1a\n' + struct.pack('<IIQQI', 1, len(values), size, offset, crc32c(table))
    return (head + struct.pack('<I', crc32c(head)) + table
            + b''.join(data for _, _, data in values.values()))


class Checkpoints(ToolTest):
    def setUp(self):
        super().setUp()
        (self.folder / 'd').mkdir()
        for step in (10, 20, 30, 100):
            self.write(f'd/model.ckpt-{step}', checkpoint(
                w=('float32', 4, bytes(range(12))), step=('int64', 8, bytes(8)),
                input=('object', 1, b'position'), raw=('', 3, bytes(6))))
        self.write('d/checkpoint', b'model_checkpoint_path: "model.ckpt-100"\n' + b''.join(
            b'all_model_checkpoint_paths: "model.ckpt-%d"\n' % s for s in (10, 20, 30, 100))
            + b''.join(b'all_model_checkpoint_timestamps: %d\n' % s for s in (1, 2, 3, 4)))
        self.write('d/notes.txt', b'no checkpoint')
        self.write('d/model.ckpt-110.partial1', b'\x89LCK\r\n\x1a\n')

    def names(self):
        return sorted(n for n in os.listdir(self.folder / 'd') if n.startswith('model'))

    def damage(self, name, at):
        path = self.folder / 'd' / name
        content = bytearray(path.read_bytes())
        content[at] ^= 1
        path.write_bytes(content)

    def test_a_list_in_the_order_of_steps(self):
        os.utime(self.folder / 'd/model.ckpt-100', (1.5e9, 1.5e9))
        lines = self.leat('checkpoints', 'd').splitlines()
        self.assertEqual(len(lines), 4)
        self.assertRegex(lines[3], r'^intact   model\.ckpt-100  step +100  2017-07-14 02:40:00Z  '
                                   r' *\d+ bytes  model  \(latest\)$')
        found = self.leat_json('checkpoints', 'd')
        self.assertEqual([c['step'] for c in found], [10, 20, 30, 100])
        size = (self.folder / 'd/model.ckpt-100').stat().st_size
        self.assertEqual(found[3], {'path': 'd/model.ckpt-100', 'step': 100, 'time': 1.5e9,
                                    'size': size, 'intact': True, 'verified': False,
                                    'identity': 'model', 'entries': 4})

    def test_corruption_is_found_where_it_is_read(self):
        self.damage('model.ckpt-20', -1)  # a value
        self.leat('checkpoints', 'd')
        text = self.leat('checkpoints', 'd', '--verify', status=1)
        self.assertEqual([line.split()[0] for line in text.splitlines()],
                         ['verified', 'corrupt', 'verified', 'verified'])
        self.assertRegex(self.errors, r"d/model\.ckpt-20: entry 'raw' at offset \d+: checksum mis"
                                      r'match: expected 0x\w+, actual 0x\w+')
        for at in (0, 8, 17, 33, 37, 45):
            self.write('d/model.ckpt-20', checkpoint(w=('float32', 4, bytes(8))))
            self.damage('model.ckpt-20', at)
            found = self.leat_json('checkpoints', 'd', status=1)
            self.assertEqual([c['intact'] for c in found], [True, False, True, True], at)
        whole = checkpoint(w=('float32', 4, bytes(8)))
        for size in range(len(whole)):
            self.write('d/model.ckpt-20', whole[:size])
            self.leat('checkpoints', '--show', 'd/model.ckpt-20', status=1)

    def test_the_entries_of_a_file(self):
        text = self.leat('checkpoints', '--show', 'd/model.ckpt-30', '--verify')
        self.assertEqual([' '.join(line.split()) for line in text.splitlines()[1:]],
                         ['w float32[3] 12 bytes', 'step int64[1] 8 bytes',
                          'input object 8 bytes', 'raw 3-byte[2] 6 bytes'])
        shown, = self.leat_json('checkpoints', '--show', 'd/model.ckpt-30')
        self.assertEqual([(e['name'], e['type'], e['element_size'], e['count'], e['size'])
                          for e in shown['entries']],
                         [('w', 'float32', 4, 3, 12), ('step', 'int64', 8, 1, 8),
                          ('input', 'object', 1, 8, 8), ('raw', '', 3, 2, 6)])

    def test_prune_keeps_the_newest_and_updates_the_state_file(self):
        self.leat('checkpoints', 'd', '--prune', 2)
        self.assertEqual(self.names(), ['model.ckpt-100', 'model.ckpt-110.partial1', 'model.ckpt-30'])
        state = (self.folder / 'd/checkpoint').read_text()
        self.assertEqual([line for line in state.splitlines() if 'time' not in line],
                         ['model_checkpoint_path: "model.ckpt-100"',
                          'all_model_checkpoint_paths: "model.ckpt-30"',
                          'all_model_checkpoint_paths: "model.ckpt-100"'])
        self.assertIn('all_model_checkpoint_timestamps: 3', state)
        self.assertEqual(self.leat('checkpoints', 'd', '--prune', 2), '')

    def test_prune_never_counts_a_corrupt_checkpoint_as_kept(self):
        self.damage('model.ckpt-100', -1)
        self.damage('model.ckpt-30', -1)
        removed = self.leat_json('checkpoints', 'd', '--prune', 1, status=1)
        self.assertEqual([c['step'] for c in removed], [10])
        self.assertRegex(self.errors, r'model\.ckpt-30: entry .* checksum mismatch.*\n.*model\.ckpt-100: entry ')
        self.assertEqual(self.names(), ['model.ckpt-100', 'model.ckpt-110.partial1', 'model.ckpt-20',
                                        'model.ckpt-30'])

    def test_prune_keeps_the_latest_and_checkpoints_without_a_step(self):
        self.write('d/checkpoint', b'model_checkpoint_path: "model.ckpt-10"\n')
        self.write('d/final', checkpoint())
        self.write('d/best-7', checkpoint())
        self.leat('checkpoints', 'd', '--prune', 1)
        self.assertEqual(self.names(), ['model.ckpt-10', 'model.ckpt-100', 'model.ckpt-110.partial1'])
        self.assertTrue((self.folder / 'd/final').exists() and (self.folder / 'd/best-7').exists())

    def preserve_the_first_two(self):
        for step, time in ((10, 1e9), (20, 2e9 - 3), (30, 2e9 + 2), (100, 2e9 + 30)):
            os.utime(self.folder / f'd/model.ckpt-{step}', (time, time))
        self.write('d/checkpoint', b'model_checkpoint_path: "model.ckpt-100"\n'
                   b'all_model_checkpoint_paths: "model.ckpt-30"\n'
                   b'all_model_checkpoint_paths: "model.ckpt-100"\n'
                   b'last_preserved_timestamp: 1999998000.5\n')

    def test_prune_keeps_and_names_preserved_checkpoints(self):
        self.preserve_the_first_two()
        text = self.leat('checkpoints', 'd', '--prune', 1)
        self.assertEqual(self.names(), ['model.ckpt-10', 'model.ckpt-100', 'model.ckpt-110.partial1',
                                        'model.ckpt-20'])
        self.assertRegex(text, r'kept +model\.ckpt-10, which the program preserves.*\n'
                               r'kept +model\.ckpt-20, .*\nremoved model\.ckpt-30, ')
        kept = self.leat_json('checkpoints', 'd', '--prune', 1)
        self.assertEqual([(c['step'], c['removed']) for c in kept], [(10, False), (20, False)])

    def test_prune_preserved_deletes_preserved_checkpoints(self):
        self.preserve_the_first_two()
        self.leat('checkpoints', 'd', '--prune', 1, '--prune-preserved')
        self.assertEqual(self.names(), ['model.ckpt-100', 'model.ckpt-110.partial1'])
        self.leat('checkpoints', 'd', '--prune-preserved', status=2)

    def test_prune_deletes_newer_unlisted_checkpoints(self):
        self.preserve_the_first_two()
        os.utime(self.folder / 'd/model.ckpt-20', (2e9 + 100, 2e9 + 100))
        self.leat('checkpoints', 'd', '--prune', 1)
        self.assertEqual(self.names(), ['model.ckpt-10', 'model.ckpt-100', 'model.ckpt-110.partial1'])

    def test_prune_of_a_directory_in_use_is_refused(self):
        before = self.names()
        with open(self.folder / 'd/checkpoint.lock', 'w') as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            fcntl.lockf(lock, fcntl.LOCK_EX)
            self.leat('checkpoints', 'd', '--prune', 1, status=1)
        self.assertEqual(self.names(), before)

    def test_usage(self):
        for arguments in ([], ['d', '--show', 'd/model.ckpt-10'], ['d', '--prune', 0],
                          ['--prune', 1]):
            self.leat('checkpoints', *arguments, status=2)
        self.leat('checkpoints', 'missing', status=3)
        self.leat('checkpoints', 'missing', '--prune', 1, status=3)
        self.assertFalse((self.folder / 'missing').exists())
        (self.folder / 'empty').mkdir()
        self.leat('checkpoints', 'empty', status=3)
        self.leat('checkpoints', '--show', 'd/notes.txt', status=1)


if __name__ == '__main__':
    main()
