#!/usr/bin/env python3
"""leat report: the page is sound and whole, whatever the names in it; the JSON has every value."""

import html.parser
import math
import pathlib
import re
import struct
import xml.etree.ElementTree

from support import ToolTest, field, main, records_file, varint

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
        # Sound as XML too: nothing in it depends on a lenient reader.
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
                self.assertTrue(60 <= x <= 632 and 5 <= y <= 256, pair)
        headings = [text for tag, text in page.texts if tag == 'h2']
        self.assertEqual(headings, ['loss', 'rate'])
        titles = [text for tag, text in page.texts if tag == 'title']
        self.assertEqual(titles, ['leat report', 'loss', 'rate'])
        self.assertEqual([t for t in page.texts if t[0] == 'desc'],
                         [('desc', 'loss over the steps, of 2 runs'),
                          ('desc', 'rate over the steps, of 1 run')])
        cells = [text for tag, text in page.texts if tag == 'td']
        self.assertEqual(cells, ['a', '10', '0.1', '0.1', '1', '9', 'b', '20', '0.1', '0.1', '2', '19',
                                 'a', '2', '0.5', '0.5', '0.5', '2'])

    def test_it_needs_nothing_from_elsewhere(self):
        self.run_of('logs', scalar('loss', 1, 1))
        text = self.leat('report', 'logs')
        self.assertNotRegex(text, r'(?i)<script|<link|<img|<iframe|@import|url\(|src=|href=|https?:')
        self.assertIn('prefers-color-scheme: dark', text)

    def test_hostile_names_are_only_text(self):
        hostile = ['<script>alert(1)</script>', '"><svg onload=x>', "' onclick='x", '&lt;b&gt;',
                   ']]>', '\x1b[31m\x00\x08', '</title></svg>', '\u202eabc', 'a' * 5000]
        run = '<b onmouseover=x>&"\''
        self.run_of('logs/' + run, *[scalar(tag, s, s) for tag in hostile for s in (1, 2)])
        self.run_of('logs/other', scalar(hostile[0], 1, 1))
        page = self.page('logs', '--title', '<i>"&')
        self.assertEqual({t for t, _ in page.elements},
                         {'html', 'head', 'meta', 'title', 'style', 'body', 'h1', 'ul', 'li', 'span',
                          'main', 'section', 'h2', 'svg', 'desc', 'g', 'line', 'text', 'polyline',
                          'circle', 'table', 'div', 'input', 'label', 'thead', 'tbody', 'tr', 'th', 'td', 'footer'})
        for _, attributes in page.elements:
            self.assertFalse([a for a in attributes if a.startswith('on')])
        headings = [text for tag, text in page.texts if tag == 'h2']
        for tag in hostile[:5]:
            self.assertIn(tag, headings)
        self.assertIn(run, [text for tag, text in page.texts if tag == 'td'])
        self.assertIn(('h1', '<i>"&'), page.texts)
        self.assertNotIn('\x1b', ''.join(text for _, text in page.texts))

    def test_what_is_not_finite_is_a_gap(self):
        values = [1, 2, math.nan, 3, math.inf, 4, 5, 6, -math.inf]
        self.run_of('logs', *[scalar('v', s, v) for s, v in enumerate(values)])
        self.run_of('none', scalar('v', 1, math.nan))
        page = self.page('logs')
        self.assertEqual([len(c['points'].split()) for c in page.of('polyline')], [2, 3])
        self.assertEqual(len(page.of('circle', 'dot')), 1)
        cells = [text for tag, text in page.texts if tag == 'td']
        self.assertEqual(cells[1:], ['9 (3 not finite)', '-inf', '1', '6', '8'])
        page = self.page('none')
        self.assertFalse(page.of('polyline') + page.of('circle'))

    def test_extreme_values_stay_in_the_drawing(self):
        for name, values in {'huge': [3e38, -3e38, 0], 'tiny': [1e-45, 2e-45], 'same': [7, 7],
                             'zero': [0, 0], 'close': [16777216, 16777217]}.items():
            self.run_of(name, *[scalar('v', s, v) for s, v in enumerate(values)])
            page = self.page(name)
            for c in page.of('polyline'):
                for number in re.split('[ ,]', c['points']):
                    self.assertTrue(math.isfinite(float(number)), name)
        self.run_of('steps', scalar('v', (1 << 63) - 1, 1), scalar('v', 1, 2))
        self.assertEqual(len(self.page('steps').of('polyline')), 1)

    def test_many_points_are_thinned_and_peaks_stay(self):
        self.run_of('logs', *[scalar('v', s, 100 if s == 4321 else s % 7) for s in range(10000)])
        points = self.page('logs', '--max-points', '200').of('polyline')[0]['points'].split()
        self.assertLessEqual(len(points), 200)
        self.assertGreater(len(points), 150)
        self.assertEqual(min(float(p.split(',')[1]) for p in points), 10)  # the top
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

    def test_a_restart_takes_back_what_it_repeats(self):
        self.run_of('logs', start(0), *[scalar('v', s, 1) for s in range(1, 11)], start(6),
                    *[scalar('v', s, 2) for s in range(6, 9)])
        run, = self.leat_json('report', 'logs')
        self.assertEqual(run['scalars']['v']['steps'], list(range(1, 9)))
        self.assertEqual(run['scalars']['v']['values'], [1] * 5 + [2] * 3)
        self.assertEqual(run['scalars']['v']['wall_times'][0], 1.5e9 + 1)
        self.assertEqual(run['discarded'], 5)
        self.assertIn('5 taken back by a restart', self.leat('report', 'logs'))

    def test_runs_are_named_by_where_they_are(self):
        for name in ('logs', 'logs/x', 'logs/x/y', 'more'):
            self.run_of(name, scalar('v', 1, 1))
        self.assertEqual([r['name'] for r in self.leat_json('report', 'logs')],
                         ['logs', 'x', 'x/y'])
        self.assertEqual([r['name'] for r in self.leat_json('report', 'logs', 'more')],
                         ['logs', 'logs/x', 'logs/x/y', 'more'])

    def test_each_run_once_however_often_it_is_named(self):
        for name in ('logs/x', 'logs/y', 'more'):
            self.run_of(name, scalar('v', 1, 1), scalar('v', 2, 2))
        (self.folder / 'link').symlink_to('logs')
        for named, expected in ((('logs', 'logs'), ['logs/x', 'logs/y']),
                                (('logs/x/', 'logs', './logs/x'), ['logs/x/', 'logs/y']),
                                (('link', 'more', 'logs'), ['link/x', 'link/y', 'more'])):
            self.assertEqual([r['name'] for r in self.leat_json('report', *named)], expected)
            self.assertEqual(len(self.page(*named).of('polyline', 'curve')), len(expected))

    def test_more_runs_than_colours(self):
        for i in range(11):
            self.run_of(f'logs/{i:02}', scalar('v', 1, i), scalar('v', 2, i))
        text = self.leat('report', 'logs')
        self.assertEqual(len(Page(text).of('polyline', 'curve')), 11)
        self.assertIn('.c8 { --c: var(--p0); } .curve.c8 { stroke-dasharray', text)

    def test_the_page_goes_to_a_file_when_it_is_whole(self):
        self.run_of('logs', scalar('v', 1, 1))
        printed = self.leat('report', 'logs')
        self.assertEqual(self.leat('report', 'logs', '-o', 'page.html'), '')
        self.assertEqual((self.folder / 'page.html').read_text(), printed)
        self.leat('report', 'logs', '-o', 'no/page.html', status=3)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ['logs', 'page.html'])

    def test_an_outlier_is_clipped_and_said(self):
        self.run_of('logs', *[scalar('v', s, 1e6 if s == 50 else 1 + s % 10) for s in range(200)])
        page = self.page('logs')
        self.assertIn(('p', 'Clipped to the percentiles 1 to 99: 1 drawn point outside, full range '
                            '1 to 1e+06.'), page.texts)
        heights = [float(p.split(',')[1]) for p in page.of('polyline')[0]['points'].split()]
        self.assertGreater(max(heights) - sorted(heights)[5], 100)
        self.run_of('even', *[scalar('v', s, s) for s in range(200)])
        self.assertNotIn('Clipped', self.leat('report', 'even'))

    def test_log_scale(self):
        self.run_of('logs', *[scalar('v', s, 10.0 ** -s) for s in range(5)],
                    *[scalar('w', s, s) for s in range(5)])
        page = self.page('logs', '--log-scale')
        v, w = ([float(p.split(',')[1]) for p in c['points'].split()] for c in page.of('polyline'))
        steps = [b - a for a, b in zip(v, v[1:])]
        self.assertLess(max(steps) - min(steps), 0.2)
        self.assertEqual(len([t for t in page.texts if t[1] == 'value (log)']), 1)
        self.assertIn(('text', '0.01'), page.texts)

    def test_a_curve_over_an_equal_one_is_dashed_and_runs_can_be_hidden(self):
        for name in 'ab':
            self.run_of('logs/' + name, *[scalar('v', s, s) for s in range(5)])
        page = self.page('logs')
        self.assertEqual([c['class'] for c in page.of('polyline')], ['curve c0', 'curve c1 over'])
        self.assertEqual([i['id'] for i in page.of('input')], ['r0', 'r1'])

    def test_without_finite_values_there_is_no_chart_and_single_values_come_last(self):
        self.run_of('logs', scalar('a', 0, 1), *[scalar('b', s, math.nan) for s in range(5)],
                    *[scalar('c', s, s) for s in range(5)])
        page = self.page('logs')
        self.assertEqual([text for tag, text in page.texts if tag == 'h2'], ['b', 'c', 'a'])
        self.assertIn(('p', 'No finite values.'), page.texts)
        self.assertEqual(len(page.of('svg')), 2)

    def test_json_goes_to_a_file_too(self):
        self.run_of('logs/a', scalar('v', 1, 1))
        self.run_of('logs/b', scalar('v', 1, 1))
        printed = self.leat('report', 'logs', '--json')
        self.assertEqual(self.leat('report', 'logs', '--json', '-o', 'runs.json'), '')
        self.assertEqual((self.folder / 'runs.json').read_text(), printed)
        self.assertEqual(len(printed.splitlines()), 2)

    def test_damage_is_left_out_and_said(self):
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
        # A last record that is not whole is not written yet.
        self.write('logs/events.out.tfevents.1500000000.host.1.0',
                   records_file(VERSION, scalar('v', 1, 1), scalar('v', 2, 2))[:-3])
        run, = self.leat_json('report', 'logs')
        self.assertEqual(run['scalars']['v']['steps'], [1])
        self.assertGreater(run['unwritten_bytes'], 0)
        self.assertGreater(whole, 0)

    def test_where_there_is_nothing(self):
        (self.folder / 'empty').mkdir()
        self.assertEqual(self.leat('report', 'empty', status=3), '')
        self.assertIn("empty: no file of events", self.errors)
        self.leat('report', 'missing', status=3)
        self.leat('report', status=2)
        self.run_of('logs', scalar('v', 1, 1))
        lines = self.leat_json('report', 'empty', 'logs', status=3)
        self.assertEqual([('error' in line) for line in lines], [True, False])
        self.run_of('silent')
        self.assertIn('no scalars and no histograms', self.leat('report', 'silent'))


if __name__ == '__main__':
    main()
