#!/usr/bin/env python3
"""leat trace: the summary of a trace, of one that is cut off, and of files that are no traces."""

import json
import resource

from support import ToolTest, main

EVENTS = [
    {'ph': 'M', 'name': 'process_name', 'pid': 1, 'args': {'name': 'service'}},
    {'ph': 'M', 'name': 'thread_name', 'pid': 1, 'tid': 1, 'args': {'name': 'scheduler 1'}},
    {'ph': 'b', 'name': 'reader', 'pid': 1, 'cat': 'task', 'id': '2.1', 'ts': 0,
     'args': {'spawned': 'a.cpp:1 in main', 'scheduler': 1}},
    {'ph': 'C', 'name': "queue 'lines' (1)", 'pid': 1, 'ts': 0, 'args': {'items': 3}},
    {'ph': 'X', 'name': 'reader', 'pid': 1, 'cat': 'run', 'tid': 1, 'ts': 0, 'dur': 10, 'args': {'task': '2.1'}},
    {'ph': 'b', 'name': 'sleep', 'pid': 1, 'cat': 'task', 'id': '2.1', 'ts': 10, 'args': {'at': 'a.cpp:2 in read'}},
    {'ph': 'e', 'name': 'sleep', 'pid': 1, 'cat': 'task', 'id': '2.1', 'ts': 50},
    {'ph': 'X', 'name': 'reader', 'pid': 1, 'cat': 'run', 'tid': 1, 'ts': 50, 'dur': 400,
     'args': {'task': '2.1', 'from': 'a.cpp:2 in read', 'until': 'a.cpp:3 in read', 'local.request': '7'}},
    {'ph': 'b', 'name': "pop from queue 'lines'", 'pid': 1, 'cat': 'task', 'id': '2.1', 'ts': 450,
     'args': {'at': 'a.cpp:3 in read'}},
    {'ph': 'X', 'name': 'turn', 'pid': 1, 'cat': 'turn', 'tid': 1, 'ts': 50, 'dur': 950, 'args': {'runs': 2}},
]
END = {'ph': 'M', 'name': 'trace_end', 'pid': 1, 'args': {'lost_events': 2, 'reached_max_bytes': 1}}


def trace(events, end='\n]\n'):
    return ('[\n' + ',\n'.join(json.dumps(e) for e in events) + end).encode()


class Trace(ToolTest):
    def summary(self, contents):
        self.write('t.json', contents)
        return json.loads(self.leat('trace', '--json', 't.json'))

    def test_the_summary_adds_up_runs_and_waits(self):
        s = self.summary(trace([*EVENTS, END]))
        self.assertEqual((s['process'], s['tasks'], s['runs'], s['length_us']), ('service', 1, 2, 1000))
        self.assertEqual((s['complete'], s['lost_events'], s['reached_max_bytes']), (True, 2, True))
        self.assertEqual(s['schedulers'], [
            {'scheduler': 1, 'name': 'scheduler 1', 'runs': 2, 'busy_us': 410, 'longest_run_us': 400}])
        self.assertEqual(s['names'], [
            {'name': 'reader', 'tasks': 1, 'runs': 2, 'busy_us': 410, 'waiting_us': 590, 'longest_run_us': 400,
             'waits_us': {"pop from queue 'lines'": 550, 'sleep': 40}}])
        self.assertEqual(s['longest_runs'][0], {
            'begin_us': 50, 'lasted_us': 400, 'scheduler': 1, 'task': 'reader', 'from': 'a.cpp:2 in read',
            'until': 'a.cpp:3 in read', 'values': {'request': '7'}})
        self.assertEqual(s['longest_turns'], [{'begin_us': 50, 'lasted_us': 950, 'scheduler': 1, 'runs': 2}])
        self.assertEqual(s['open_waits'], [
            {'task': 'reader', 'wait': "pop from queue 'lines'", 'at': 'a.cpp:3 in read', 'lasted_us': 550}])

    def test_the_text_names_places_and_requests(self):
        self.write('t.json', trace([*EVENTS, END]))
        text = self.leat('trace', 't.json')
        self.assertIn("t.json: 1.0 ms of 'service', 1 scheduler, 1 task, 2 runs", text)
        self.assertIn('max_bytes', text)
        self.assertIn('2 events were dropped', text)
        self.assertIn('400.0 us  at 50.0 us, reader on scheduler 1, request 7', text)
        self.assertIn('from a.cpp:2 in read to a.cpp:3 in read', text)
        self.assertIn("reader: pop from queue 'lines', at a.cpp:3 in read", text)

    def test_a_trace_may_be_cut_off_anywhere(self):
        whole = trace(EVENTS, ',\n')
        last_line = len(whole) - len(json.dumps(EVENTS[-1])) - 2
        for size in range(last_line, len(whole) + 1):
            s = self.summary(whole[:size])
            self.assertFalse(s['complete'])
            self.assertEqual(s['runs'], 2)

    def test_a_program_may_be_killed_after_its_first_event(self):
        first = trace(EVENTS[:1], ',\n')
        s = self.summary(first)
        self.assertEqual((s['complete'], s['runs']), (False, 0))
        self.summary(first.rstrip(b',\n'))
        for nothing in b'[\n', b'[\n{"name":"pro', b'[\n]\n':
            self.write('t.json', nothing)
            self.leat('trace', 't.json', status=1, error='it contains no event')

    def test_list_limits_the_lists(self):
        self.write('t.json', trace([*EVENTS, END]))
        s = json.loads(self.leat('trace', '--json', '--list', '1', 't.json'))
        self.assertEqual(len(s['longest_runs']), 1)
        self.assertNotIn('longest runs', self.leat('trace', '--list', '0', 't.json'))

    def test_task_locals_named_like_arguments_change_no_count(self):
        events = json.loads(json.dumps(EVENTS))
        for event in events:
            if 'at' in event.get('args', {}):
                event['args'] |= {'local.spawned': '3', 'local.at': 'x'}
            if 'until' in event.get('args', {}):
                event['args'] |= {'local.task': '1', 'local.from': '2', 'local.until': '3'}
        s = self.summary(trace([*events, END]))
        values = s['longest_runs'][0].pop('values')
        self.assertEqual(values, {'request': '7', 'task': '1', 'from': '2', 'until': '3'})
        expected = self.summary(trace([*EVENTS, END]))
        expected['longest_runs'][0].pop('values')
        self.assertEqual(s, expected)

    def test_lists_of_any_length_are_in_order(self):
        # In an order in which each run precedes or follows all earlier ones.
        times = [n if n % 2 else 100_000 - n for n in range(12_000)]
        run = EVENTS[4]
        self.write('t.json', trace([*EVENTS[:2], *({**run, 'ts': n, 'dur': t} for n, t in enumerate(times)), END]))
        start = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        few = json.loads(self.leat('trace', '--json', '--list', '1', 't.json'))['longest_runs']
        middle = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        many = json.loads(self.leat('trace', '--json', '--list', '1000000', 't.json'))['longest_runs']
        end = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        self.assertEqual([r['lasted_us'] for r in many], sorted(times, reverse=True))
        self.assertEqual(many[:1], few)
        self.assertLess(end - middle, 4 * (middle - start) + 0.5)  # an insertion into a sorted list: 20 times

    def test_equal_runs_are_listed_in_the_order_of_their_begins(self):
        run = EVENTS[4]
        self.write('t.json', trace([*EVENTS[:2], *({**run, 'ts': n} for n in range(20)), END]))
        for count in 5, 20:
            s = json.loads(self.leat('trace', '--json', '--list', str(count), 't.json'))
            self.assertEqual([r['begin_us'] for r in s['longest_runs']], list(range(count)))

    def test_other_files_are_rejected_with_their_line(self):
        for contents, message in [
                (b'', 'line 1: the file is empty'),
                (b'hello\n', 'line 1: a trace begins with a line "["'),
                (b'[\n{"ph":"X"},\n{"ph":"X"},\n', 'line 2: the event lacks a member'),
                (b'[\nnonsense\n{}\n', 'line 2: it is not an event in JSON'),
                (b'[\n{"ph":1,"name":2}\n]\n', 'line 2: the event lacks a member')]:
            self.write('t.json', contents)
            self.leat('trace', 't.json', status=1, error='t.json, ' + message)

    def test_a_missing_file_has_status_3(self):
        self.leat('trace', 'missing.json', status=3)


if __name__ == '__main__':
    main()
