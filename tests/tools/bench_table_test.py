#!/usr/bin/env python3
"""The table of the benchmarks shows medians, spread, goals and quoted results.

usage: bench_table_test.py ROOT
"""

import json
import pathlib
import subprocess
import sys
import unittest

root = pathlib.Path(sys.argv.pop(1))
sys.path.insert(0, str(root / 'tools'))
import bench_table  # noqa: E402

KNOWN = {'w': {'goal': 12, 'quoted': {'quoted peer': '126 ns/item'}}, 'r': {'goal': 12},
         't': {'times': {'threads': 3}}}


def results(subject, *values, unit='ns/item'):
    return [{'subject': subject, 'value': v, 'unit': unit} for v in values]


def rows_of(workload, own, *peers, unit='ns/item'):
    """The rows of leat's results, and of those of peers."""
    return bench_table.rows(workload, [('a', results('leat', own, unit=unit)),
                                       *(('b', results('peer', v, unit=unit)) for v in peers)], KNOWN)


def list_of_workloads():
    return subprocess.run([sys.executable, root / 'tools' / 'bench.py', root / 'no build', '--list'],
                          capture_output=True, text=True, check=True).stdout.splitlines()


class BenchTable(unittest.TestCase):
    def test_median_spread_and_ratio(self):
        own, peer = bench_table.rows('x', [('a', results('leat', 30.0, 10.0, 20.0)),
                                           ('b', results('peer', 50.0))], KNOWN)
        self.assertEqual(own, '| x | leat | 20 ns/item | 10..30 |  |  |')
        self.assertEqual(peer, '| x | peer | 50 ns/item | 50..50 | 2.50 |  |')

    def test_the_ratio_of_a_rate_is_leat_by_peer(self):
        self.assertIn('| 2.00 |', rows_of('x', 4.0, 2.0, unit='GB/s')[1])

    def test_the_ratio_of_an_equally_fast_peer_is_one(self):
        self.assertIn('| 1.00 |', rows_of('x', 2.0, 2.0)[1])

    def test_goals(self):
        self.assertIn('| 12 ns/item: reached |', rows_of('w', 11.0)[0])
        self.assertIn('| 12 ns/item: missed by a factor of 2.00 |', rows_of('w', 24.0)[0])
        self.assertIn('| 12 GB/s: missed by a factor of 2.00 |', rows_of('r', 6.0, unit='GB/s')[0])

    def test_a_goal_missed_by_less_than_the_rounding_is_reached(self):
        self.assertIn('| 12 ns/item: reached |', rows_of('w', 12.001)[0])

    def test_an_absolute_goal_is_shown_for_leat_only(self):
        self.assertNotIn('reached', rows_of('r', 1.0, 1.0)[1])

    def test_a_goal_can_be_a_ratio_to_a_peer(self):
        def goal_of(own, peer, subject='threads', **options):
            lines = bench_table.rows('t', [('a', results('leat', own, **options)),
                                           ('b', results(subject, peer, **options))], KNOWN)
            self.assertTrue(lines[0].endswith('|  |'))  # the row of leat has no ratio
            return lines[1].split('|')[6].strip()
        self.assertEqual(goal_of(10.0, 30.0), 'ratio 3: reached')
        self.assertEqual(goal_of(10.0, 29.0), 'ratio 3: missed')
        self.assertEqual(goal_of(3.0, 1.0, unit='GB/s'), 'ratio 3: reached')
        self.assertEqual(goal_of(2.0, 1.0, unit='GB/s'), 'ratio 3: missed')
        self.assertEqual(goal_of(10.0, 30.0, subject='another peer'), '')

    def test_quoted_results_are_marked(self):
        lines = bench_table.rows('w', [('a', results('leat', 11.0)), ('b_peer', [])], KNOWN)
        self.assertEqual(lines[1:], ['| w | b_peer | not built | | | |',
                                     '| w | quoted peer | quoted: 126 ns/item | | | |'])

    def test_every_goal_names_an_existing_workload_and_peer(self):
        goals = json.loads((root / 'benches' / 'goals.json').read_text())
        programs = {workload: peers for workload, _, *peers in
                    (line.split('\t') for line in list_of_workloads())}
        sources = root / 'benches' / 'peers'
        for workload, known in goals['workloads'].items():
            self.assertIn(workload, programs)
            texts = [path.read_text() for p in programs[workload]
                     if (path := next(sources.rglob(p + '.cpp'), None))]
            for peer in known.get('times', {}):
                self.assertTrue(any(f'"{peer}"' in text for text in texts),
                                f'{workload} is not compared with {peer}')
        self.assertIn('not measured here', bench_table.notes(goals)[-1])

    def test_every_recorded_result_names_an_existing_workload(self):
        listed = {line.split('\t')[0] for line in list_of_workloads()}
        recorded = json.loads((root / 'benches' / 'results.json').read_text())
        for entry in (entry for entries in recorded.values() for entry in entries):
            self.assertIn(entry['workload'].split(',')[0], listed)
        ratios = json.loads((root / 'benches' / 'ratios.json').read_text())
        for workload in (w for machine in ratios['machines'].values() for w in machine['rows']):
            self.assertIn(workload, listed)


unittest.main()
