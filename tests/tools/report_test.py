#!/usr/bin/env python3
"""leat report: the page is complete and well-formed for any names; the JSON contains every value."""

import html
import html.parser
import json
import math
import os
import pathlib
import random
import re
import struct
import subprocess
import unittest
import xml.etree.ElementTree

from support import ToolTest, field, main, records_file, varint

SCRIPT = re.compile('<script>(.*)</script>', re.DOTALL)  # greedy: there is only one
BROWSER = os.environ.get('LEAT_TEST_BROWSER', '')  # such as chromium

VERSION = struct.pack('<Bd', 9, 1.5e9) + field(3, b'brain.Event:2')


def event(step, content, wall=1.5e9):
    return struct.pack('<Bd', 9, wall + step) + (b'\x10' + varint(step) if step else b'') + content


def scalar(tag, step, value):
    tag = tag if isinstance(tag, bytes) else tag.encode()
    return event(step, field(5, field(1, field(1, tag) + b'\x15' + struct.pack('<f', value))))


def histogram(tag, step, limits, counts, low, high):
    doubles = lambda values: struct.pack(f'<{len(values)}d', *values)
    head = struct.pack('<BdBdBd', 9, low, 17, high, 25, sum(counts))
    message = head + field(6, doubles(limits)) + field(7, doubles(counts))
    return event(step, field(5, field(1, field(1, tag.encode()) + field(5, message))))


def start(step):
    return event(step, field(7, b'\x08\x01'))


class Page(html.parser.HTMLParser):
    """Checks that elements are closed in order, and keeps what a test asks for."""

    VOID = {'meta', 'br'}

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open = []
        self.elements = []
        self.texts = []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, tag

    def handle_data(self, data):
        if data.strip():
            self.texts.append((self.open[-1] if self.open else '', data))

    def texts_of(self, *tags):
        return [text for tag, text in self.texts if tag in tags]

    def of(self, tag, name=None):
        return [a for t, a in self.elements
                if t == tag and (name is None or name in a.get('class', '').split())]


class Report(ToolTest):
    def run_of(self, name, *events):
        (self.folder / name).mkdir(parents=True, exist_ok=True)
        return self.write(f'{name}/events.out.tfevents.1500000000.host.1.0',
                          records_file(VERSION, *events))

    def page(self, *arguments, **options):
        text = self.leat('report', *arguments, **options)
        self.assertTrue(text.startswith('<!DOCTYPE html>'))
        # The page is also well-formed XML, so it does not depend on a lenient parser.
        xml.etree.ElementTree.fromstring(text.split('\n', 1)[1])
        return Page(text)

    def test_a_curve_for_each_run_and_a_chart_for_each_tag(self):
        self.run_of('logs/a', *[scalar('loss', s, 1 / (s + 1)) for s in range(10)],
                    scalar('rate', 1, 0.5), scalar('rate', 2, 0.5))
        self.run_of('logs/b', *[scalar('loss', s, 2 / (s + 1)) for s in range(20)])
        page = self.page('logs')
        self.assertEqual(len(page.of('section', 'chart')), 2)
        self.assertEqual(len(page.of('svg')), 2)
        curves = page.of('polyline', 'curve')
        self.assertEqual([len(c['points'].split()) for c in curves], [10, 20, 2])
        self.assertEqual([c['class'] for c in curves], ['curve c0', 'curve c1', 'curve c0'])
        for c in curves:
            for pair in c['points'].split():
                x, y = map(float, pair.split(','))
                self.assertTrue(62 <= x <= 426 and 24 <= y <= 192, pair)
        self.assertEqual(page.texts_of('h2'), ['loss', 'rate'])
        self.assertEqual(page.texts_of('title'), ['leat report', 'loss', 'rate'])
        self.assertEqual([t for t in page.texts if t[0] == 'desc'],
                         [('desc', 'loss over the steps, of 2 runs'),
                          ('desc', 'rate over the steps, of 1 run')])
        cells = page.texts_of('td')
        self.assertEqual(cells, ['a', '10', '0.1', '0.1', '1', '9', 'b', '20', '0.1', '0.1', '2', '19',
                                 'a', '2', '0.5', '0.5', '0.5', '2'])

    def test_the_page_loads_no_other_resources(self):
        self.run_of('logs', scalar('loss', 1, 1))
        text = self.leat('report', 'logs')
        self.assertIn('prefers-color-scheme: dark', text)
        # The page contains its only script, which loads nothing from outside of the page.
        before, script, after = SCRIPT.split(text)
        self.assertTrue(script.startswith('//<![CDATA[\n') and script.endswith('\n//]]>'), script)
        self.assertEqual(script.count(']]>'), 1)
        self.assertNotRegex(before + after, r'(?i)<script|<link|<img|<iframe|@import|url\(|src=|href=|'
                                            r'https?:|javascript:')
        self.assertNotRegex(script, r'(?i)fetch|XMLHttp|import|require|eval|Function|worker|socket|'
                                    r'beacon|https?:|//(?!<|\]| )|innerHTML|outerHTML|insertAdjacent|'
                                    r'document\.write|\.href|\.src|location|cookie|storage')

    def test_the_script_is_the_same_on_every_page(self):
        self.run_of('a', scalar('loss', 1, 1), scalar('loss', 2, 1))
        self.run_of('b/<script>', *[scalar('</script><script>alert(1)</script>]]>', s, s) for s in (1, 2)])
        self.run_of('c')
        scripts = [SCRIPT.split(self.leat('report', name, '--title', name))[1] for name in 'abc']
        self.assertEqual(len(set(scripts)), 1)

    def test_hostile_names_are_only_text(self):
        hostile = ['<script>alert(1)</script>', '"><svg onload=x>', "' onclick='x", '&lt;b&gt;',
                   ']]>', '\x1b[31m\x00\x08', '</title></svg>', '\u202eabc', 'a' * 5000]
        run = '<b onmouseover=x>&"\''
        self.run_of('logs/' + run, *[scalar(tag, s, s) for tag in hostile for s in (1, 2)])
        grouped = [f'<b>/{i}' for i in (1, 2)]
        self.run_of('logs/other', *[scalar(tag, s, s) for tag in grouped for s in (1, 2)],
                    scalar('<i>single', 1, 1), scalar('<i>nan', 1, math.nan), scalar('<i>nan', 2, math.nan))
        page = self.page('logs', '--title', '<i>"&')
        self.assertEqual({t for t, _ in page.elements},
                         {'html', 'head', 'meta', 'title', 'style', 'body', 'h1', 'ul', 'li', 'span',
                          'main', 'section', 'h2', 'svg', 'desc', 'g', 'line', 'text', 'polyline',
                          'table', 'div', 'input', 'label', 'thead', 'tbody', 'tr', 'th', 'td', 'footer',
                          'form', 'fieldset', 'details', 'summary', 'p', 'script'})
        for _, attributes in page.elements:
            self.assertFalse([a for a in attributes if a.startswith('on')])
        headings = page.texts_of('h2')
        for tag in hostile[:5] + grouped:
            self.assertIn(tag, headings)
        self.assertIn(('summary', '<b> '), page.texts)
        self.assertIn(('td', '<i>single'), page.texts)
        self.assertIn('<i>nan (2 values in other)', ' '.join(page.texts_of('p')))
        self.assertIn(run, page.texts_of('td'))
        self.assertIn(('h1', '<i>"&'), page.texts)
        self.assertNotIn('\x1b', ''.join(text for _, text in page.texts))

    def test_a_value_that_is_not_finite_is_a_gap(self):
        values = [1, 2, math.nan, 3, math.inf, 4, 5, 6, -math.inf]
        self.run_of('logs', *[scalar('v', s, v) for s, v in enumerate(values)])
        page = self.page('logs')
        self.assertEqual([len(c['points'].split()) for c in page.of('polyline')], [2, 3])
        self.assertEqual(len(page.of('circle', 'dot')), 1)
        cells = page.texts_of('td')
        self.assertEqual(cells[1:], ['9', '-inf', '1', '6', '8'])
        self.assertIn(('span', '3 not finite'), page.texts)

    def test_extreme_values_stay_in_the_drawing(self):
        for name, values in {'huge': [3e38, -3e38, 0], 'tiny': [1e-45, 2e-45], 'same': [7, 7],
                             'zero': [0, 0], 'close': [16777216, 16777217]}.items():
            self.run_of(name, *[scalar('v', s, v) for s, v in enumerate(values)])
            page = self.page(name)
            for c in page.of('polyline'):
                for number in re.split('[ ,]', c['points']):
                    self.assertTrue(math.isfinite(float(number)), name)
        self.run_of('steps', scalar('v', 1, 2), scalar('v', (1 << 63) - 1, 1))
        self.assertEqual(len(self.page('steps').of('polyline')), 1)

    def test_many_points_are_thinned_and_peaks_stay(self):
        self.run_of('logs', *[scalar('v', s, 100 if s == 4321 else s % 7) for s in range(10000)])
        points = self.page('logs', '--max-points', '200').of('polyline')[0]['points'].split()
        self.assertLessEqual(len(points), 200)
        self.assertGreater(len(points), 150)
        self.assertEqual(min(float(p.split(',')[1]) for p in points), 24)  # the top
        self.assertEqual(len(self.leat_json('report', 'logs')[0]['scalars']['v']['values']), 10000)

    def test_smoothing_adds_a_line_in_front(self):
        self.run_of('logs', *[scalar('v', s, s % 2) for s in range(50)])
        curves = self.page('logs', '--smoothing', '0.9').of('polyline')
        self.assertEqual([c['class'] for c in curves], ['curve c0 faint', 'curve c0'])
        spread = lambda c: [float(p.split(',')[1]) for p in c['points'].split()][10:]
        self.assertLess(max(spread(curves[1])) - min(spread(curves[1])),
                        (max(spread(curves[0])) - min(spread(curves[0]))) / 2)
        self.leat('report', 'logs', '--smoothing', '1', status=2)
        self.leat('report', 'logs', '--smoothing', 'nan', status=2)
        self.assertIn("--smoothing: give a number, not 'nan'\n", self.errors)

    def test_histograms_are_bands_of_percentiles(self):
        limits, counts = [0, 1, 2, 3], [0, 10, 20, 10]
        self.run_of('logs', *[histogram('w', s, limits, counts, 0.25, 2.75) for s in range(5)],
                    histogram('bad', 1, [1, 0], [1, 1], 0, 1))
        page = self.page('logs')
        bands = page.of('polygon', 'band')
        self.assertEqual([len(b['points'].split()) for b in bands], [10] * 4)
        self.assertEqual(len(page.of('polyline', 'curve')), 1)
        h = self.leat_json('report', 'logs')[0]['histograms']
        self.assertEqual(h['w']['steps'], list(range(5)))
        first = h['w']['values'][0]
        self.assertEqual((first['count'], first['min'], first['max']), (40, 0.25, 2.75))
        self.assertEqual(first['percentiles'][0], 0.25)
        self.assertEqual(first['percentiles'][4], 1.5)
        self.assertEqual(first['percentiles'][8], 2.75)
        self.assertEqual(h['bad']['values'][0]['percentiles'], [])

    def test_a_restart_discards_repeated_steps(self):
        self.run_of('logs', start(0), *[scalar('v', s, 1) for s in range(1, 11)], start(6),
                    *[scalar('v', s, 2) for s in range(6, 9)])
        run, = self.leat_json('report', 'logs')
        self.assertEqual(run['scalars']['v']['steps'], list(range(1, 9)))
        self.assertEqual(run['scalars']['v']['values'], [1] * 5 + [2] * 3)
        self.assertEqual(run['scalars']['v']['wall_times'][0], 1.5e9 + 1)
        self.assertEqual(run['discarded'], 5)
        self.assertIn('5 discarded, because their steps were repeated', self.leat('report', 'logs'))

    def test_a_restart_without_a_start_discards_repeated_steps(self):
        self.run_of('logs', *[scalar('v', s, 1) for s in range(1, 11)],
                    *[scalar('v', s, 2) for s in range(6, 9)])
        run, = self.leat_json('report', 'logs')
        self.assertEqual(run['scalars']['v']['steps'], list(range(1, 9)))
        self.assertEqual(run['scalars']['v']['values'], [1] * 5 + [2] * 3)
        self.assertEqual(run['discarded'], 5)

    def test_runs_are_named_by_their_path(self):
        for name in ('logs', 'logs/x', 'logs/x/y', 'more'):
            self.run_of(name, scalar('v', 1, 1))
        self.assertEqual([r['name'] for r in self.leat_json('report', 'logs')],
                         ['logs', 'x', 'x/y'])
        self.assertEqual([r['name'] for r in self.leat_json('report', 'logs', 'more')],
                         ['logs', 'logs/x', 'logs/x/y', 'more'])

    def test_a_run_that_is_given_twice_is_shown_once(self):
        for name in ('logs/x', 'logs/y', 'more'):
            self.run_of(name, scalar('v', 1, 1), scalar('v', 2, 2))
        (self.folder / 'link').symlink_to('logs')
        for named, expected in ((('logs', 'logs'), ['logs/x', 'logs/y']),
                                (('logs/x/', 'logs', './logs/x'), ['logs/x/', 'logs/y']),
                                (('link', 'more', 'logs'), ['link/x', 'link/y', 'more'])):
            self.assertEqual([r['name'] for r in self.leat_json('report', *named)], expected)
            self.assertEqual(len(self.page(*named).of('polyline', 'curve')), len(expected))

    def test_links_that_lead_back_end(self):
        self.run_of('logs', scalar('v', 1, 1))
        self.run_of('logs/z', scalar('v', 1, 1))
        for name in 'a', 'b':
            os.symlink('.', self.folder / 'logs' / name)
        os.symlink('z', self.folder / 'logs' / 'zz')
        self.assertEqual([r['path'] for r in self.leat_json('report', 'logs')], ['logs', 'logs/z'])

    def test_more_runs_than_colours(self):
        for i in range(11):
            self.run_of(f'logs/{i:02}', scalar('v', 1, i), scalar('v', 2, i))
        text = self.leat('report', 'logs')
        self.assertEqual(len(Page(text).of('polyline', 'curve')), 11)
        self.assertIn('.c8 { --c: var(--p0); } .curve.c8 { stroke-dasharray', text)

    def test_the_page_file_appears_when_it_is_complete(self):
        self.run_of('logs', scalar('v', 1, 1))
        printed = self.leat('report', 'logs')
        self.assertEqual(self.leat('report', 'logs', '-o', 'page.html'), '')
        self.assertEqual((self.folder / 'page.html').read_text(), printed)
        self.leat('report', 'logs', '-o', 'no/page.html', status=3)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ['logs', 'page.html'])

    def test_an_outlier_is_clipped_and_counted(self):
        self.run_of('logs', *[scalar('v', s, {50: 1e6, 60: -5e5}.get(s, 1 + s % 10)) for s in range(5000)])
        page = self.page('logs')
        note = 'Clipped, outside: 2 of 5000 values in logs. Full range: -5e+05 to 1e+06.'
        self.assertIn(('p', note), page.texts)
        heights = [float(p.split(',')[1]) for p in page.of('polyline')[0]['points'].split()]
        self.assertGreater(max(heights) - sorted(heights)[5], 100)
        # Triangles at the edges have the clipped values.
        marks = page.of('path', 'mark')
        self.assertEqual([m['class'] for m in marks], ['mark c0', 'mark c0'])
        self.assertEqual([re.search(r',(\d+)l-5,(-?8)', m['d']).groups() for m in marks],
                         [('24', '8'), ('192', '-8')])
        self.assertEqual(page.texts_of('title')[-2:],
                         ['step 50: 1e+06', 'step 60: -5e+05'])
        self.run_of('even', *[scalar('v', s, s) for s in range(200)])
        self.assertNotIn('Clipped', self.leat('report', 'even').split('<script>')[0])

    def test_the_tails_of_a_distribution_are_no_outliers(self):
        values = random.Random(1)
        self.run_of('logs', *[scalar('v', s, 1e6 if s == 50 else values.gauss(0, 1)) for s in range(5000)])
        [note] = [text for tag, text in self.page('logs').texts if tag == 'p' and 'Clipped' in text]
        self.assertIn('outside: 1 of 5000 values', note)

    def test_a_short_run_is_no_outlier_of_a_long_one(self):
        self.run_of('logs/long', *[scalar('v', s, 1 + s % 10) for s in range(10000)])
        self.run_of('logs/short', *[scalar('v', s, 500 + s) for s in range(50)])
        page = self.page('logs')
        self.assertFalse(page.of('path', 'mark'))
        self.run_of('logs/wild', *[scalar('v', s, 1e9 if s % 100 == 7 else s % 7) for s in range(400)])
        page = self.page('logs')
        [note] = [text for tag, text in page.texts if tag == 'p' and 'Clipped' in text]
        self.assertIn('outside: 4 of 400 values in wild.', note)

    def test_adjacent_marks_are_merged(self):
        self.run_of('logs', *[scalar('v', s, 1e6 + s if s in range(5000, 5050) else s % 7)
                              for s in range(10000)])
        page = self.page('logs')
        self.assertEqual([text for tag, text in page.texts if text.startswith('step 5')],
                         ['step 5049: 1.005e+06'])

    def test_log_scale(self):
        self.run_of('logs', *[scalar('v', s, 10.0 ** -s) for s in range(5)],
                    *[scalar('w', s, s) for s in range(5)])
        page = self.page('logs', '--log-scale')
        v, w = ([float(p.split(',')[1]) for p in c['points'].split()] for c in page.of('polyline'))
        steps = [b - a for a, b in zip(v, v[1:])]
        self.assertLess(max(steps) - min(steps), 0.2)
        self.assertEqual(len([t for t in page.texts if t[1] == 'value (log)']), 1)
        self.assertIn(('text', '0.01'), page.texts)
        # The page offers the logarithmic axis only for charts that can have it.
        self.assertEqual(['data-log' in svg for svg in page.of('svg')], [True, False])
        self.run_of('close', *[scalar('v', s, 100 + s) for s in range(5)])
        self.assertIn(('text', '102'), self.page('close', '--log-scale').texts)

    def test_smoothing_on_a_log_scale_averages_the_logarithms(self):
        self.run_of('logs', *[scalar('v', s, 1e-3 if s % 2 else 1e3) for s in range(400)],
                    *[scalar('w', s, s - 5) for s in range(20)])
        page = self.page('logs', '--log-scale', '--smoothing', '0.99', '--max-points', '1000')
        groups = page.of('g', 'series')
        self.assertEqual([(g['data-kind'], 'off' in g['class']) for g in groups],
                         [('faint', False), ('linear', True), ('log', False),
                          ('faint', False), ('linear', False)])
        last = [float(g['data-v'].split()[-1]) for g in groups[:3]]
        self.assertAlmostEqual(last[1], 500, delta=20)
        self.assertAlmostEqual(math.log10(last[2]), 0, delta=0.1)
        lines = page.of('polyline')
        self.assertEqual([c['class'] for c in lines],
                         ['curve c0 faint', 'curve c0', 'curve c0 faint', 'curve c0'])
        height = float(lines[1]['points'].split()[-1].split(',')[1])
        self.assertAlmostEqual(height, (24 + 192) / 2, delta=3)  # 1 is in the middle
        page = self.page('logs', '--smoothing', '0.99')
        self.assertEqual(['off' in g['class'] for g in page.of('g', 'series')[:3]], [False, False, True])

    def test_overlapping_curves_have_different_dashes(self):
        for name in 'abc':
            self.run_of('logs/' + name, *[scalar('v', s, s) for s in range(5)])
        self.run_of('logs/d', *[scalar('v', s, s / 2) for s in range(5)])
        page = self.page('logs')
        self.assertEqual([c.get('style') for c in page.of('polyline')],
                         [None, 'stroke-dasharray: 8 16; stroke-dashoffset: -8',
                          'stroke-dasharray: 8 16; stroke-dashoffset: -16', None])
        self.assertEqual([i['id'] for i in page.of('input') if 'id' in i], ['r0', 'r1', 'r2', 'r3'])

    def test_single_values_are_a_table(self):
        self.run_of('logs/a', scalar('lr', 0, 0.5), scalar('n', 7, 3), *[scalar('z', s, s) for s in (1, 2)])
        self.run_of('logs/b', scalar('lr', 0, 0.25), scalar('n', 9, 4), scalar('z', 1, 1))
        self.run_of('logs/c', scalar('n', 9, math.nan))
        page = self.page('logs')
        self.assertEqual(page.texts_of('h2'), ['z', 'Single values'])
        self.assertEqual(len(page.of('svg')), 1)
        cells = page.texts_of('td', 'th')
        self.assertEqual(cells[cells.index('tag'):],
                         ['tag', 'a', 'b', 'c', 'step', 'lr', '0.5', '0.25', '0',
                          'n', '3 at 7', '4 at 9', 'nan at 9'])

    def test_tags_without_finite_values_are_a_note_at_the_end(self):
        self.run_of('logs/a', *[scalar('b', s, math.nan) for s in range(5)],
                    *[scalar('c', s, s) for s in range(5)], scalar('single', 1, 1))
        self.run_of('logs/b', scalar('b', 0, math.inf))
        text = self.leat('report', 'logs')
        page = Page(text)
        self.assertEqual(page.texts_of('h2'), ['c', 'Single values'])
        self.assertIn(('p', 'Without a finite value: b (5 values in a, 1 value in b).'), page.texts)
        self.assertGreater(text.index('Without a finite value'), text.index('Single values'))

    def test_tags_are_grouped_by_their_prefix(self):
        self.run_of('logs', *[scalar(tag, s, s) for s in (1, 2)
                              for tag in ('a/x', 'loss/train', 'z', 'loss/test', 'loss')],
                    *[histogram(f'w/{i}', s, [0, 1], [1, 1], 0, 1) for i in (1, 2) for s in (1, 2)])
        page = self.page('logs')
        self.assertEqual(page.texts_of('h2'),
                         ['a/x', 'z', 'loss', 'loss/test', 'loss/train', 'w/1', 'w/2'])
        self.assertEqual([d.get('open') for d in page.of('details')], ['open', 'open'])
        self.assertEqual([text.strip() for tag, text in page.texts if tag == 'summary'], ['loss', 'w'])
        self.assertIn(('span', '3 charts'), page.texts)
        self.assertIn(('span', '2 charts, histograms'), page.texts)

    def test_the_script_finds_the_values_in_the_page(self):
        self.run_of('logs', scalar('v', 1, 0.5), scalar('v', 3, math.nan), scalar('v', 1 << 60, 1e-7))
        page = self.page('logs')
        [group] = page.of('g', 'series')
        self.assertEqual(group['data-s'], f'1 3 {1 << 60}')
        self.assertEqual(group['data-v'], '0.5 nan 1e-07')
        self.assertEqual(group['data-t'].split()[:2], ['0', '2'])
        self.assertEqual((group['data-begin'], group['data-run']), ('1500000001.000', '0'))
        # Its controls are hidden until it runs.
        self.assertEqual(page.of('form', 'controls')[0]['hidden'], 'hidden')
        self.assertEqual([i['value'] for i in page.of('input') if i.get('name') == 'axis'],
                         ['step', 'relative', 'wall'])

    def test_many_curves_have_fewer_points(self):
        long = [scalar('long', s, (s * 7919) % 101) for s in range(600)]
        self.run_of('few', *long, *[scalar(f't{tag}', 1, 1) for tag in range(500)])
        self.run_of('many', *long, *[scalar(f't{tag}', s, s) for tag in range(499) for s in (1, 2)])
        for name, options, count in (('few', [], 600), ('many', [], 400),
                                     ('many', ['--max-points', '600'], 600)):
            groups = self.page(name, *options).of('g', 'series')
            self.assertEqual(len(groups[0]['data-s'].split()), count)

    @unittest.skipUnless(BROWSER, 'LEAT_TEST_BROWSER names no browser')
    def test_the_script_in_a_browser(self):
        self.run_of('logs/a', *[scalar('loss', s, 2.0 ** -s) for s in range(10)])
        self.run_of('logs/<b>', *[scalar('loss', s, 1e6 if s == 70 else 1 + s % 3) for s in range(0, 100, 2)])
        text = self.leat('report', 'logs')
        act = """
<script>//<![CDATA[
setTimeout(() => {
  const svg = document.querySelector('svg'), box = svg.getBoundingClientRect(), found = {};
  const texts = selector => [...document.querySelectorAll(selector)].map(e => e.textContent);
  const point = x => svg.dispatchEvent(new PointerEvent('pointermove',
    { clientX: box.left + x * box.width, clientY: box.top + 50, bubbles: true }));
  const choose = (selector, value) => {
    const e = document.querySelector(selector);
    e.checked = value;
    e.dispatchEvent(new Event('change', { bubbles: true }));
  };
  found.controls = !document.querySelector('.controls').hidden;
  found.marks = texts('.mark title');
  point(0.15);
  found.step = texts('.tip tr td');
  found.place = texts('.tip div');
  choose('[value=relative]', true);
  found.relative = texts('.axes .name, .axes text').filter(t => t.includes('beginning'));
  choose('[value=wall]', true);
  found.wall = texts('.axes text').filter(t => t.includes('time'));
  choose('[name=log]', true);
  found.log = texts('.axes .title');
  choose('[id=r1]', false);
  found.shown = [...document.querySelectorAll('g.series')].map(g => !g.classList.contains('off'));
  choose('[id=r0]', false);
  found.none = texts('svg polyline').length;
  document.title = JSON.stringify(found);
}, 500);
//]]></script></body>"""
        self.write('page.html', text.replace('</body>', act).encode())
        done = subprocess.run(
            [BROWSER, '--headless', '--no-sandbox', '--disable-gpu', '--no-first-run',
             '--disable-background-networking', '--disable-sync', '--virtual-time-budget=3000',
             f'--user-data-dir={self.folder}/profile', '--window-size=1200,900', '--dump-dom',
             f'file://{self.folder}/page.html'], capture_output=True, timeout=60)
        found = json.loads(html.unescape(re.search('<title>(.*?)</title>', done.stdout.decode())[1]))
        self.assertTrue(found['controls'])
        self.assertEqual(found['marks'], ['step 70: 1e+06'])
        [place] = found['place']
        step = int(place.removeprefix('step '))
        self.assertIn(step, range(5, 10))  # both runs are present, and only one has odd steps
        self.assertIn(f'{2.0 ** -step:.6g}', found['step'])
        self.assertEqual('at step 8' in found['step'] or 'at step 6' in found['step'], step % 2 == 1)
        self.assertTrue({'a', '<b>'} <= set(found['step']), found['step'])
        self.assertEqual(found['relative'], ['time since the beginning of the run (s)'])
        self.assertEqual(len(found['wall']), 1)
        self.assertEqual(found['log'], ['value (log)'])
        self.assertEqual(found['shown'], [True, False])

    def test_json_goes_to_a_file_too(self):
        self.run_of('logs/a', scalar('v', 1, 1))
        self.run_of('logs/b', scalar('v', 1, 1))
        printed = self.leat('report', 'logs', '--json')
        self.assertEqual(self.leat('report', 'logs', '--json', '-o', 'runs.json'), '')
        self.assertEqual((self.folder / 'runs.json').read_text(), printed)
        self.assertEqual(len(printed.splitlines()), 2)

    def test_an_event_file_is_not_replaced(self):
        path = self.run_of('logs/a', scalar('v', 1, 1))
        unreadable = self.run_of('logs/b', b'no event')
        os.link(path, self.folder / 'link')
        for name in path, unreadable, self.folder / 'link':
            content = pathlib.Path(name).read_bytes()
            for form in [], ['--json']:
                self.assertEqual(self.leat('report', 'logs', '-o', name, *form, status=2), '')
                self.assertIn('1.0: output would replace this input file', self.errors)
                self.assertEqual(pathlib.Path(name).read_bytes(), content)
        self.leat('report', 'logs/a', '-o', 'logs/a/page.html')

    def test_damage_is_skipped_and_reported(self):
        path = self.run_of('logs', scalar('v', 1, 1), scalar('v', 2, 2), scalar('v', 3, 3))
        content = bytearray(pathlib.Path(path).read_bytes())
        whole = len(content)
        at = content.index(struct.pack('<f', 2))
        content[at] ^= 1
        self.write('logs/events.out.tfevents.1500000000.host.1.0', content)
        page = self.page('logs', status=1)
        self.assertIn('checksum', self.errors)
        self.assertIn('1 damaged', ' '.join(text for _, text in page.texts))
        self.assertEqual(len(page.of('polyline')), 1)
        # An incomplete last record counts as not yet written.
        self.write('logs/events.out.tfevents.1500000000.host.1.0',
                   records_file(VERSION, scalar('v', 1, 1), scalar('v', 2, 2))[:-3])
        run, = self.leat_json('report', 'logs')
        self.assertEqual(run['scalars']['v']['steps'], [1])
        self.assertGreater(run['unwritten_bytes'], 0)
        self.assertGreater(whole, 0)

    def test_directories_without_runs(self):
        (self.folder / 'empty').mkdir()
        self.assertEqual(self.leat('report', 'empty', status=3), '')
        self.assertIn("empty: no event file found in it or below", self.errors)
        self.leat('report', 'missing', status=3)
        self.leat('report', status=2)
        self.run_of('logs', scalar('v', 1, 1))
        lines = self.leat_json('report', 'empty', 'logs', status=3)
        self.assertEqual([('error' in line) for line in lines], [True, False])
        self.run_of('silent')
        self.assertIn('These runs have no scalars and no histograms', self.leat('report', 'silent'))


if __name__ == '__main__':
    main()
