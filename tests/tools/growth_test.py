#!/usr/bin/env python3
"""The picture of the growth is drawn from measured costs, and its factors show where growth is not linear.

usage: growth_test.py ROOT
"""

import pathlib
import sys
import unittest
import xml.dom.minidom

root = pathlib.Path(sys.argv.pop(1))
sys.path.insert(0, str(root / 'tools'))
import growth  # noqa: E402


class Growth(unittest.TestCase):
    def test_a_factor_is_relative_to_the_lowest_cost_of_fewer_objects(self):
        self.assertEqual(growth.factors([40, 10, 20, 5, 15]), [1, 1, 2, 1, 3])

    def test_a_cost_is_written_with_a_unit(self):
        self.assertEqual(growth.quantity(56.91, 'ns'), '56.9 ns')
        self.assertEqual(growth.quantity(31_400, 'ns'), '31.4 µs')
        self.assertEqual(growth.quantity(2150, 'bytes'), '2.15 kB')

    def test_the_picture_has_a_curve_for_time_and_one_for_memory(self):
        costs = [10.0 * n for n in range(1, 8)]
        text = growth.picture({'queues': {'ns': costs, 'bytes': costs}, 'tasks': {'ns': costs, 'bytes': costs}})
        curves = xml.dom.minidom.parseString(text).getElementsByTagName('polyline')
        self.assertEqual(len(curves), 4)
        self.assertEqual({len(c.getAttribute('points').split()) for c in curves}, {7})

    def test_the_recorded_picture_shows_every_curve(self):
        picture = xml.dom.minidom.parse(str(root / 'docs' / 'growth.svg'))
        self.assertEqual(len(picture.getElementsByTagName('polyline')), 2 * len(growth.CURVES))


unittest.main()
