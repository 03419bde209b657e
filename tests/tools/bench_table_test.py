#!/usr/bin/env python3
"""The table of the benchmarks tells medians, spread, goals and quoted figures.

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

KNOWN = {'w': {'goal': 12, 'quoted': {'peer of elsewhere': '126 ns/item'}}, 'r': {'goal': 12},
         't': {'times': {'threads': 3}}}


def results(subject, *values, unit='ns/item'):
    return [{'subject': subject, 'value': v, 'unit': unit} for v in values]


class BenchTable(unittest.TestCase):
    def test_median_spread_and_ratio(self):
        own, peer = bench_table.rows('x', [('a', results('leat', 30.0, 10.0, 20.0)),
                                           ('b', results('peer', 50.0))], KNOWN)
        self.assertEqual(own, '| x | leat | 20 ns/item | 10..30 |  |  |')
        self.assertEqual(peer, '| x | peer | 50 ns/item | 50..50 | 2.50 times as good |  |')

    def test_a_rate_is_better_when_it_is_more(self):
        lines = bench_table.rows('x', [('a', results('leat', 4.0, unit='GB/s')),
                                       ('b', results('peer', 2.0, unit='GB/s'))], KNOWN)
        self.assertIn('2.00 times as good', lines[1])

    def test_a_peer_as_fast_as_leat_has_a_ratio(self):
        lines = bench_table.rows('x', [('a', results('leat', 2.0)), ('b', results('peer', 2.0))], {})
        self.assertIn('1.00 times as good', lines[1])

    def test_goals(self):
        self.assertIn('| 12: reached |', bench_table.rows('w', [('a', results('leat', 11.0))],
                                                          KNOWN)[0])
        self.assertIn('| 12: missed, 2.00 times |',
                      bench_table.rows('w', [('a', results('leat', 24.0))], KNOWN)[0])
        self.assertIn('| 12: missed, 2.00 times |',
                      bench_table.rows('r', [('a', results('leat', 6.0, unit='GB/s'))], KNOWN)[0])

    def test_a_goal_missed_by_nothing_that_is_shown_is_reached(self):
        self.assertIn('| 12: reached |', bench_table.rows('w', [('a', results('leat', 12.001))],
                                                          KNOWN)[0])

    def test_a_goal_is_leats_alone(self):
        lines = bench_table.rows('r', [('a', results('leat', 1.0)), ('b', results('peer', 1.0))],
                                 KNOWN)
        self.assertNotIn('reached', lines[1])

    def test_a_goal_may_be_a_multiple_of_a_peer(self):
        def goal_of(own, peer, subject='threads', **options):
            lines = bench_table.rows('t', [('a', results('leat', own, **options)),
                                           ('b', results(subject, peer, **options))], KNOWN)
            self.assertTrue(lines[0].endswith('|  |'))  # leat's own row has none
            return lines[1].split('|')[6].strip()
        self.assertEqual(goal_of(10.0, 30.0), '3 times: reached')
        self.assertEqual(goal_of(10.0, 29.0), '3 times: missed')
        self.assertEqual(goal_of(3.0, 1.0, unit='GB/s'), '3 times: reached')
        self.assertEqual(goal_of(2.0, 1.0, unit='GB/s'), '3 times: missed')
        self.assertEqual(goal_of(10.0, 30.0, subject='another peer'), '')

    def test_what_is_quoted_says_so(self):
        lines = bench_table.rows('w', [('a', results('leat', 11.0)), ('b_peer', [])], KNOWN)
        self.assertEqual(lines[1:], ['| w | b_peer | not built | | | |',
                                     '| w | peer of elsewhere | quoted: 126 ns/item | | | |'])

    def test_the_goals_are_of_workloads_and_peers_that_exist(self):
        goals = json.loads((root / 'benches' / 'goals.json').read_text())
        listed = subprocess.run(
            [sys.executable, root / 'tools' / 'bench.py', root / 'no build', '--list'],
            capture_output=True, text=True, check=True).stdout.splitlines()
        programs = {workload: peers for workload, _, *peers in
                    (line.split('\t') for line in listed)}
        sources = root / 'benches' / 'peers'
        for workload, known in goals['workloads'].items():
            self.assertIn(workload, programs)
            texts = [path.read_text() for p in programs[workload]
                     if (path := sources / (p + '.cpp')).exists()]
            for peer in known.get('times', {}):
                self.assertTrue(any(f'"{peer}"' in text for text in texts),
                                f'{workload} is not compared with {peer}')
        machine = bench_table.notes(goals)
        self.assertIn('not measured here', machine[1])


unittest.main()
