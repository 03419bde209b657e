#!/usr/bin/env python3
"""Reads the event files of a supervised program with other readers: Python removes the framing, and
protobuf's own compiler decodes the events.

    supervised_events.py SUPERVISED_EVENTS PROTOC
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / 'support'))
from tfrecord_bytes import unframed

program, protoc = sys.argv[1:]
messages = pathlib.Path(__file__).resolve().parent


def message_of(lines):
    """Parses protobuf's text in order. An unknown field has its number as its name."""
    fields = []
    for line in lines:
        line = line.strip()
        if line == '}':
            break
        if line.endswith(' {'):
            fields.append((line[:-2], message_of(lines)))
        else:
            fields.append(re.fullmatch(r'(\w+): (.*)', line).groups())
    for name, _ in fields:
        assert not name.isdigit(), fields
    return fields


def decoded(record):
    text = subprocess.run([protoc, f'--proto_path={messages}', '--decode=leat.oracle.Event',
                           'event.proto'], input=record, capture_output=True, check=True).stdout
    return dict(message_of(iter(text.decode().splitlines())))


def scalars(events):
    """Tag -> [(step, value)]"""
    found = {}
    for event in events:
        for name, value in event.get('summary', []):
            assert name == 'value'
            value = dict(value)
            assert value.keys() == {'tag', 'simple_value'}, value
            point = (int(event.get('step', 0)), float(value['simple_value']))
            found.setdefault(value['tag'].strip('"'), []).append(point)
    return found


def check(path, logdir, first, last, begun):
    events = [decoded(record) for record in unframed(path.read_bytes())]
    times = [float(event['wall_time']) for event in events]
    assert int(path.name.split('.')[3]) == times[0]
    assert all(begun - 60 < at < time.time() + 60 for at in times)

    version, start, *others, stop = events
    assert version.keys() == {'wall_time', 'file_version'}
    assert version['file_version'] == '"brain.Event:2"'
    assert dict(start['session_log']) == {'status': 'START'}
    assert int(start.get('step', 0)) == (first + 1 if first else 0)  # the next step
    assert dict(stop['session_log']) == {'status': 'STOP'} and 'step' not in stop

    saved = []
    for event in others:
        assert ('session_log' in event) != ('summary' in event), event
        if 'session_log' in event:
            log = dict(event['session_log'])
            step = int(event.get('step', 0))
            assert log == {'status': 'CHECKPOINT', 'checkpoint_path': f'"{logdir}/model.ckpt"',
                           'msg': f'"{logdir}/model.ckpt-{step}"'}, log
            saved.append(step)
    # A stop may prevent the first checkpoint, but not the last one.
    assert saved and set(saved) <= {first, last} and saved == sorted(saved), saved
    assert saved[-1] == last, saved

    curves = scalars(others)
    rates = [f'{stage}/{what}' for stage in ('files', 'text') for what in
             ('records_per_second', 'bytes_per_second', 'waiting_for_input', 'waiting_for_room')]
    expected = {'global_step/sec', 'learnt/fraction_of_16_full', *rates}
    assert expected <= curves.keys(), curves.keys()
    for tag, points in curves.items():
        assert [step for step, _ in points] == sorted(step for step, _ in points), tag
        assert first <= points[0][0] and points[-1][0] == last, (tag, points)
        assert all(value >= 0 for _, value in points), (tag, points)
        if 'waiting' in tag or 'fraction' in tag:
            assert all(value <= 1 for _, value in points), (tag, points)
    assert curves['learnt/fraction_of_16_full'][0][1] == 0
    assert curves['learnt/fraction_of_16_full'][-1][1] == (last - first) / 16
    assert any(value > 0 for _, value in curves['files/records_per_second'])
    return len(events)


with tempfile.TemporaryDirectory() as folder:
    lines = pathlib.Path(folder, 'lines')
    lines.write_text(''.join(f'line {i}\n' for i in range(100)))
    logdir = pathlib.Path(folder, 'run')
    begun = time.time()
    known = []
    count = 0
    for run in range(3):
        subprocess.run([program, logdir, lines], check=True)
        files = sorted(logdir.glob('events.out.tfevents.*'))
        assert files[:-1] == known and len(files) == run + 1, files  # the new one is the last
        count += check(files[-1], logdir, 4 * run, 4 * run + 4, begun)
        known = files
print(f'{count} events of {len(known)} runs decoded')
