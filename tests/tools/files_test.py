#!/usr/bin/env python3
"""leat count, stat, verify and index."""

import gzip
import os
import signal
import struct
import subprocess
import time

from support import LEAT, ToolTest, example, main, masked_crc, records_file


class Count(ToolTest):
    def test_one_file_and_several(self):
        self.write('a', records_file('x', 'y'))
        self.write('b', records_file())
        self.assertEqual(self.leat('count', 'a').split(), ['2', 'a'])
        self.assertEqual(self.leat('count', 'a', 'b').split(), ['2', 'a', '0', 'b', '2', 'total'])

    def test_compressed_and_standard_input(self):
        content = records_file(*map(str, range(500)))
        self.write('g', gzip.compress(content))
        self.assertEqual(self.leat('count', 'g').split(), ['500', 'g'])
        self.assertEqual(self.leat('count', '-', input=content).split(), ['500', '-'])

    def test_json(self):
        content = records_file('abc', 'defg')
        self.write('a', content)
        numbers = {'records': 2, 'payload_bytes': 7, 'file_bytes': 39}
        self.assertEqual(self.leat_json('count', 'a'), [
            {'path': 'a', **numbers, 'source': 'headers'}, {'total': numbers}])

    def test_no_index_ignores_the_index(self):
        self.write('a', records_file('x', 'y'))
        self.leat('index', 'a')
        self.assertEqual(self.leat_json('count', 'a')[0]['source'], 'index')
        self.assertEqual(self.leat_json('count', '--no-index', 'a')[0]['source'], 'headers')
        self.write('a', records_file('x', 'y', 'z'))  # the index is outdated now
        self.assertEqual(self.leat('count', 'a').split(), ['3', 'a'])

    def test_damaged_and_missing_files_do_not_stop_the_count(self):
        content = records_file('x', 'y')
        self.write('cut', content[:-1])
        self.write('good', content)
        self.assertEqual(self.leat('count', 'cut', 'good', status=1).split(),
                         ['2', 'good', '2', 'total'])
        self.assertIn('cut, record 1 at offset 17: truncated', self.errors)
        *files, total = self.leat_json('count', 'cut', 'none', 'good', status=3)
        self.assertEqual([(f['path'], f.get('error', {}).get('code')) for f in files],
                         [('cut', 'data_loss'), ('none', 'not_found'), ('good', None)])
        self.assertEqual(total['total']['records'], 2)

    def test_compressed_files_have_no_index(self):
        self.write('a.gz', gzip.compress(records_file('x', 'y')))
        for command in (['index'], ['cat', '--records', '1']):
            self.leat(*command, 'a.gz', status=1, error='a.gz: file is compressed with GZIP: only')

    def test_a_file_without_a_size_is_read(self):
        self.leat('count', '/proc/self/maps', status=1)
        self.assertIn('/proc/self/maps, record 0 at offset 0: checksum', self.errors)
        self.leat('count', '--compression', 'none', '/proc/self/maps', status=1)
        self.assertIn('/proc/self/maps: size of the file is unknown', self.errors)

    def test_a_length_beyond_any_file(self):
        length = struct.pack('<Q', 2 ** 64 - 1)
        self.write('a', length + struct.pack('<I', masked_crc(length)) + b'abc' * 10)
        self.leat('count', 'a', status=1)
        self.assertIn('a, record 0 at offset 0: truncated after 42 of 18446744073709551615 bytes',
                      self.errors)

    def test_jobs_sets_the_number_of_concurrent_files(self):
        for i in range(50):
            self.write(f'f{i:02}', records_file(*['x'] * i))
        for jobs in (1, 2, 16):
            lines = self.leat('count', '-j', jobs, 'f*').splitlines()
            self.assertEqual([line.split() for line in lines[:-1]],
                             [[str(i), f'./f{i:02}'] for i in range(50)])
            self.assertEqual(lines[-1].split()[0], str(sum(range(50))))


class Stat(ToolTest):
    def test_sizes_and_content(self):
        self.write('a', records_file(*(example(age=[i], tags=[b'x'] * (i % 3)) for i in range(30))))
        [facts] = self.leat_json('stat', 'a')
        self.assertEqual(facts['records'], 30)
        self.assertEqual(facts['compression'], 'none')
        self.assertEqual(facts['index'], 'none')
        self.assertEqual(facts['sample']['examples'], 30)
        self.assertEqual(facts['sample']['features'], {
            'age': {'kinds': {'int64': 30}, 'fewest': 1, 'most': 1},
            'tags': {'kinds': {'bytes': 20, 'empty': 10}, 'fewest': 0, 'most': 2}})
        text = self.leat('stat', 'a')
        self.assertIn('records      30', text)
        self.assertIn('tf.train.Example, 2 features in the first 30 records', text)
        self.assertIn('0 to 2 values', text)

    def test_the_distribution_of_sizes(self):
        self.write('a', records_file(*('x' * i for i in range(1001))))
        [facts] = self.leat_json('stat', 'a')
        size = facts['record_size']
        self.assertEqual((size['min'], size['max'], size['mean']), (0, 1000, 500))
        for part, value in (('p50', 500), ('p90', 900), ('p99', 990)):
            self.assertTrue(value <= size[part] <= value * 17 / 16 + 1, (part, size))

    def test_empty_compressed_and_indexed_files(self):
        self.write('empty', b'')
        [facts] = self.leat_json('stat', 'empty')
        self.assertEqual((facts['records'], facts['file_bytes']), (0, 0))
        self.write('g', gzip.compress(records_file('x')))
        [facts] = self.leat_json('stat', 'g')
        self.assertEqual((facts['records'], facts['compression']), (1, 'GZIP'))
        self.write('i', records_file('x'))
        self.leat('index', 'i')
        self.assertEqual(self.leat_json('stat', 'i')[0]['index'], 'present')
        self.write('i', records_file('y', 'z'))
        self.assertEqual(self.leat_json('stat', 'i')[0]['index'], 'outdated')

    def test_standard_input_is_read_once(self):
        [facts] = self.leat_json('stat', input=records_file('x', 'y'))
        self.assertEqual((facts['path'], facts['records']), ('-', 2))


class Verify(ToolTest):
    def test_whole_files(self):
        self.write('a', records_file('x', 'y'))
        self.write('g', gzip.compress(records_file('z')))
        self.assertEqual(self.leat('verify', 'a', 'g'),
                         'ok      a: 2 records, 34 bytes\nok      g: 1 record, 17 bytes\n')
        self.assertEqual(self.leat_json('verify', 'a'), [
            {'path': 'a', 'ok': True, 'records': 2, 'bytes': 34, 'damaged': 0, 'lost_bytes': 0,
             'transient': 0, 'places': []}])

    def test_every_flipped_bit_is_found(self):
        whole = records_file('abc', '', 'the end')
        for bit in range(0, len(whole) * 8, 7):
            damaged = bytearray(whole)
            damaged[bit // 8] ^= 1 << bit % 8
            self.write(f'bit{bit:04}', bytes(damaged))
        answers = self.leat_json('verify', 'bit*', status=1)
        self.assertEqual(len(answers), (len(whole) * 8 + 6) // 7)
        for answer in answers:
            self.assertFalse(answer['ok'])
            self.assertEqual(answer['records'], 2)
            self.assertEqual(answer['damaged'], 1)
            self.assertEqual(answer['bytes'] + answer['lost_bytes'], len(whole))

    def test_list_limits_the_listed_places(self):
        whole = bytearray(records_file(*('x' * 100 for _ in range(50))))
        for i in range(0, 50, 2):
            whole[116 * i + 50] ^= 1
        self.write('a', bytes(whole))
        text = self.leat('verify', '--list', 3, 'a', status=1)
        self.assertIn('damaged a: 25 records, 2.8 KiB; damaged in 25 places, 2.8 KiB lost', text)
        self.assertEqual(text.count('checksum of the payload'), 3)
        self.assertIn('and 22 more: raise --list', text)
        [answer] = self.leat_json('verify', '--list', 100, 'a', status=1)
        self.assertEqual([p['offset'] for p in answer['places']], [232 * i for i in range(25)])
        self.assertTrue(all(p['expected_crc'] != p['actual_crc'] for p in answer['places']))

    def test_an_unreadable_file_outweighs_damage_in_the_exit_status(self):
        self.write('cut', records_file('x')[:-1])
        answers = self.leat_json('verify', 'cut', 'none', status=3)
        self.assertEqual(answers[0]['damaged'], 1)
        self.assertEqual(answers[1]['error']['code'], 'not_found')

    def interrupted(self, number, before=signal.SIG_DFL):
        """Interrupts a verify that waits for standard input; says how it ended. Before it began the
        signal was not ignored, as it is where the tests run in the background, or was."""
        verify = subprocess.Popen([LEAT, 'verify', '-'], stdin=subprocess.PIPE,
                                  stdout=subprocess.DEVNULL,
                                  preexec_fn=lambda: signal.signal(number, before))
        verify.stdin.write(records_file('first'))
        verify.stdin.flush()
        # With several threads, the command watches for signals.
        while len(os.listdir(f'/proc/{verify.pid}/task')) < 3:
            time.sleep(0.001)
        verify.send_signal(number)
        if before == signal.SIG_IGN:
            verify.stdin.close()
        status = verify.wait(30)
        verify.stdin.close()
        return status

    def test_a_signal_ends_the_command(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self.assertEqual(self.interrupted(number), -number)

    def test_an_ignored_signal_stays_ignored(self):
        self.assertEqual(self.interrupted(signal.SIGHUP, signal.SIG_IGN), 0)


class Index(ToolTest):
    def test_creates_missing_indexes(self):
        self.write('a', records_file('x', 'y'))
        self.assertEqual(self.leat('index', 'a'), 'ok      a.index: created, 2 records\n')
        made = os.stat(self.folder / 'a.index')
        self.assertEqual(self.leat('index', 'a'), 'ok      a.index: already present, 2 records\n')
        self.assertEqual(os.stat(self.folder / 'a.index').st_ino, made.st_ino)
        self.leat('index', '--force', 'a')
        self.assertNotEqual(os.stat(self.folder / 'a.index').st_mtime_ns, made.st_mtime_ns)

    def test_check(self):
        self.write('a', records_file('x', 'y'))
        self.assertEqual(self.leat_json('index', '--check', 'a', status=1),
                         [{'path': 'a', 'index': 'a.index', 'state': 'missing'}])
        self.assertFalse((self.folder / 'a.index').exists())
        self.leat('index', 'a')
        self.assertEqual(self.leat_json('index', '--check', 'a'),
                         [{'path': 'a', 'index': 'a.index', 'state': 'present', 'records': 2}])
        self.write('a', records_file('x', 'y', 'z'))
        [answer] = self.leat_json('index', '--check', 'a', status=1)
        self.assertEqual(answer['state'], 'unfit')
        self.assertIn('has 51 bytes, but had 34 when it was indexed', answer['message'])
        self.leat('index', 'a')
        self.leat('index', '--check', 'a')

    def test_an_unusable_index_path_is_not_a_usage_error(self):
        self.write('a', records_file('x', 'y'))
        self.write('a.index', b'0 17\n17 17\n')
        [answer] = self.leat_json('index', '--check', 'a', status=1)
        self.assertEqual(answer['state'], 'unfit')
        os.remove(self.folder / 'a.index')
        for make in (os.mkdir, os.mkfifo):
            make(self.folder / 'a.index')
            [answer] = self.leat_json('index', '--check', 'a', status=1)
            self.assertEqual(answer['state'], 'unfit')
            [answer] = self.leat_json('index', 'a', status=1)
            self.assertIn('not a regular file', answer['error']['message'])
            (os.rmdir if make == os.mkdir else os.remove)(self.folder / 'a.index')

    def test_output_sets_the_path_of_the_index(self):
        self.write('a', records_file('x'))
        self.leat('index', '-o', 'other', 'a')
        self.assertEqual(self.files(), ['a', 'other'])

    def test_a_file_is_not_replaced_by_its_index(self):
        self.write('a', records_file('x'))
        os.link(self.folder / 'a', self.folder / 'b')
        for name in ('a', 'b', f'../{self.folder.name}/a'):
            self.leat('index', '-o', name, 'a', status=2, error='a: output would replace this input file')
            self.leat('index', '--force', '-o', name, 'a', status=2)
        for name in ('a', 'b'):
            self.assertEqual(self.content(name), records_file('x'))

    def test_for_dali(self):
        self.write('a', records_file('abc', 'defg'))
        self.assertEqual(self.leat('index', '--dali', 'a'), '0 19\n19 20\n')
        self.assertEqual(os.listdir(self.folder), ['a'])

    def test_damage(self):
        self.write('a', records_file('abc', 'defg')[:-1])
        self.leat('index', 'a', status=1, error='a, record 1 at offset 19: truncated')
        self.assertEqual(os.listdir(self.folder), ['a'])

    def test_usage(self):
        self.leat('index', status=2, error='FILE is required')
        self.leat('index', '-', status=2)
        self.write('a', b'')
        self.write('b', b'')
        self.leat('index', '-o', 'c', 'a', 'b', status=2)
        self.leat('index', '--dali', '--check', 'a', status=2)
        self.leat('index', 'none', status=3, error='none: cannot get the status')


main()
