#!/usr/bin/env python3
"""The recorded ratios of the benchmarks are compared with measured ones, and written as tables.

usage: bench_ratios_test.py ROOT
"""

import json
import pathlib
import sys
import tempfile
import unittest

root = pathlib.Path(sys.argv.pop(1))
sys.path.insert(0, str(root / 'tools'))
import bench_ratios  # noqa: E402


def row(leat, unit='ns/item', **peers):
    return {'unit': unit, 'medians': {'leat': leat, **peers}}


def worse(before, after):
    return list(bench_ratios.worse({'queue/x': before}, {'queue/x': after}).values())


class Guard(unittest.TestCase):
    def test_a_ratio_that_is_more_than_ten_percent_lower_is_worse(self):
        self.assertEqual(worse(row(10, peer=20), row(10, peer=17.9)),
                         ['queue/x: the ratio to peer is 1.79, and the recorded ratio is 2.00'])
        self.assertEqual(worse(row(10, peer=20), row(10, peer=18.1)), [])

    def test_a_slower_machine_is_not_worse(self):
        self.assertEqual(worse(row(10, peer=20), row(30, peer=60)), [])

    def test_a_better_ratio_is_not_worse(self):
        self.assertEqual(worse(row(10, peer=20), row(5, peer=20)), [])

    def test_the_ratio_of_a_rate_is_compared_too(self):
        before = row(4.0, unit='GB/s', peer=2.0)
        self.assertEqual(len(worse(before, row(3.0, unit='GB/s', peer=2.0))), 1)
        self.assertEqual(worse(before, row(5.0, unit='GB/s', peer=2.0)), [])

    def test_the_best_peer_of_each_kind_is_compared(self):
        before = row(10, **{'best': 20, 'second': 21, 'best (unbounded)': 30, 'second (unbounded)': 31})
        after = row(10, **{name: 10 for name in before['medians'] if name != 'leat'})
        lines = worse(before, after)
        self.assertEqual([line.split(' is ')[0] for line in lines],
                         ['queue/x: the ratio to best', 'queue/x: the ratio to best (unbounded)'])

    def test_limits_and_unknown_rows_and_peers_are_not_compared(self):
        self.assertEqual(worse(row(10, epoll=20), row(10, epoll=10)), [])
        self.assertEqual(worse(row(10, a=20), row(10, b=1)), [])
        self.assertEqual(bench_ratios.worse({}, {'queue/x': row(10, a=1)}), {})

    def test_a_percentile_of_few_samples_is_not_compared(self):
        for percentile, count in (('-p99', 1), ('-p99.9', 0)):
            rows = [{'latency/x' + percentile: row(10, a=ratio)} for ratio in (20, 10)]
            self.assertEqual(len(bench_ratios.worse(*rows)), count)


class Record(unittest.TestCase):
    def test_a_record_replaces_only_the_measured_rows_of_this_machine(self):
        with tempfile.TemporaryDirectory() as folder:
            bench_ratios.RECORD = pathlib.Path(folder) / 'ratios.json'
            here = bench_ratios.machine_kind()
            other = {'versions': {}, 'rows': {'queue/a': row(1, peer=2)}}
            bench_ratios.RECORD.write_text(json.dumps({'machines': {'other': other}}))
            bench_ratios.record({'queue/a': row(10, peer=20), 'queue/b': row(1, peer=1)}, {'peer': '1'}, 5)
            bench_ratios.record({'queue/a': row(12.3456, peer=20), 'queue/no peer': row(1)}, {'peer': '2'}, 3)
            machines = bench_ratios.load()['machines']
        self.assertEqual(machines['other'], other)
        self.assertEqual(list(machines[here]['rows']), ['queue/a', 'queue/b'])
        self.assertEqual(machines[here]['rows']['queue/a']['medians'], {'leat': 12.35, 'peer': 20})
        self.assertEqual(machines[here]['rows']['queue/b'], {**row(1, peer=1), 'runs': 5, 'ranges': {}})
        self.assertEqual(machines[here]['versions'], {'peer': '2'})


class Tables(unittest.TestCase):
    machines = {
        'A': {'versions': {'Fast': '1', 'Fast queue': '2'},
              'rows': {'queue/x': row(10, **{'Fast queue': 5, 'Slow': 40, 'epoll': 1})}},
        'B': {'versions': {'Fast': '3'}, 'rows': {'queue/x': row(10, **{'Slow': 20, 'Fast queue': 1234})}},
    }

    def test_the_lowest_ratio_is_first_and_each_machine_has_a_column(self):
        self.assertEqual(bench_ratios.table(self.machines, 'queue')[2:], [
            '| `queue/x` | epoll (limit) |  | 0.10 |  |',
            '|  | Fast queue | 2; 3 | 0.50 | 123 |',
            '|  | Slow |  | 4.00 | 2.00 |'])

    def test_ranges_that_overlap_decide_nothing(self):
        def cell(*peer):
            x = {**row(10, peer=20), 'ranges': {'leat': [9, 11], 'peer': peer}}
            return bench_ratios.table({'A': {'versions': {}, 'rows': {'queue/x': x}}}, 'queue')[2]
        self.assertEqual(cell(11.1, 20), '| `queue/x` | peer |  | 2.00 |')
        self.assertEqual(cell(11, 20), '| `queue/x` | peer |  | 2.00 (undecided) |')
        self.assertEqual(cell(1, 9), '| `queue/x` | peer |  | 2.00 (undecided) |')
        self.assertEqual(cell(1, 8.9), '| `queue/x` | peer |  | 2.00 |')

    def test_times_are_those_of_one_machine(self):
        self.assertEqual(bench_ratios.times(self.machines['B'], 'queue', {'queue/x': {'goal': 12}})[2:],
                         ['| `queue/x` | leat | 10 ns | 12 ns |', '|  | Slow | 20 ns |  |',
                          '|  | Fast queue | 1,234 ns |  |'])

    def test_other_groups_are_left_out(self):
        self.assertEqual(len(bench_ratios.table(self.machines, 'task')), 2)

    def test_the_goal_depends_on_the_kind_of_the_peer(self):
        self.assertEqual(bench_ratios.goal_of('corral'), 1)
        self.assertEqual(bench_ratios.goal_of('moodycamel (unbounded)'), 0.9)
        self.assertEqual(bench_ratios.goal_of('libcoro ring_buffer, not in turn'), 0.9)
        self.assertIsNone(bench_ratios.goal_of('bare coroutines'))


unittest.main()
