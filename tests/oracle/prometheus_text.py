#!/usr/bin/env python3
"""Parses the output of prometheus_text() as Prometheus does: the text format 0.0.4, line by line."""

import re
import subprocess
import sys

NAME = re.compile(r'[a-zA-Z_:][a-zA-Z0-9_:]*')
LABEL = re.compile(r'[a-zA-Z_][a-zA-Z0-9_]*')
VALUE = re.compile(r'[-+]?(Inf|NaN|\d+(\.\d+)?([eE][-+]?\d+)?|\.\d+)')
UNITS = ('_seconds', '_bytes', '_ratio')


def fail(number, line, why):
    sys.exit(f'line {number}: {why}: {line}')


def unescaped(text, at, number, line):
    """Returns the value of a label that starts after its quote, and its end."""
    value = ''
    while text[at] != '"':
        if text[at] == '\\':
            at += 1
            if text[at] not in '\\"n':
                fail(number, line, 'an unknown escape')
            value += '\n' if text[at] == 'n' else text[at]
        else:
            value += text[at]
        at += 1
    return value, at + 1


def sample(number, line):
    """Returns the name, the labels and the value of a line."""
    match = NAME.match(line) or fail(number, line, 'no name')
    labels = {}
    at = match.end()
    if line[at] == '{':
        at += 1
        while line[at] != '}':
            label = LABEL.match(line, at) or fail(number, line, 'no label')
            if line[label.end():label.end() + 2] != '="' or label[0] in labels:
                fail(number, line, 'a label without a value, or twice')
            labels[label[0]], at = unescaped(line, label.end() + 2, number, line)
            if line[at] == ',':
                at += 1
        at += 1
    if line[at] != ' ' or not VALUE.fullmatch(line[at + 1:]):
        fail(number, line, 'no value')
    return match[0], labels, float(line[at + 1:])


def parse(text):
    """Returns the families in their order: name to type and samples."""
    if not text.endswith('\n'):
        sys.exit('no line end at the end')
    families = {}
    series = set()
    help_of = None
    current = None
    for number, line in enumerate(text[:-1].split('\n'), 1):
        if line.startswith('# HELP '):
            name = line.split(' ', 3)[2]
            if name in families or not NAME.fullmatch(name) or not line.split(' ', 3)[3]:
                fail(number, line, 'a family twice, a wrong name, or no help')
            if re.search(r'\\[^\\n]', line):
                fail(number, line, 'an unknown escape')
            help_of = name
        elif line.startswith('# TYPE '):
            _, _, name, kind = line.split(' ')
            if name != help_of or kind not in ('counter', 'gauge'):
                fail(number, line, 'a type without help, or an unknown one')
            if (kind == 'counter') != name.endswith('_total'):
                fail(number, line, '_total is for counters, and all of them')
            families[name] = (kind, [])
            current = name
        else:
            name, labels, value = sample(number, line)
            if name != current:
                fail(number, line, 'a sample outside of its family')
            key = (name, tuple(sorted(labels.items())))
            if key in series:
                fail(number, line, 'a series twice')
            series.add(key)
            families[name][1].append((labels, value))
    return families


def main():
    program, = sys.argv[1:]
    output = subprocess.run([program], stdout=subprocess.PIPE, check=True).stdout
    families = parse(output.decode())
    values = {(name, next(iter(labels.values()))): value
              for name, (_, samples) in families.items() for labels, value in samples}
    odd = 'back\\slash "quoted"\nline, {brace} = straß e'
    expected = {
        ('leat_stage_records_total', 'readers'): 1e12,
        ('leat_stage_records_total', 'readers#2'): 0,
        ('leat_stage_bytes_total', 'readers'): float(2**64 - 1),
        ('leat_stage_input_wait_seconds_total', 'readers'): 3600.000000001,
        ('leat_stage_room_wait_seconds_total', odd): 1.5,
        ('leat_queue_items', 'shuffle_batch'): 17,
        ('leat_queue_min_items', 'shuffle_batch'): 10,
        ('leat_queue_pushed_items_total', ''): 17,
        ('leat_queue_capacity_items', ''): float('inf'),
        ('leat_queue_weight', ''): 24,
        ('leat_queue_max_weight', ''): 1000,
        ('leat_queue_closed', ''): 1,
    }
    for key, value in expected.items():
        assert values.get(key) == value, (key, values.get(key), value)
    assert abs(values['leat_queue_fullness_ratio', 'shuffle_batch'] - 7 / 22) < 1e-6
    assert ('leat_queue_weight', 'shuffle_batch') not in values
    for name, (_, samples) in families.items():
        assert samples, name
        base = name.removesuffix('_total')
        assert base.endswith(UNITS) or not re.search(r'time|wait$|duration|size', base), name
    print(f'{len(values)} samples of {len(families)} metrics')


if __name__ == '__main__':
    main()
