#!/usr/bin/env python3
"""Measures how the cost of leat grows with the number of objects: the time and the memory of one object, or
of one item. A cost that stays the same means linear growth. Prints a table and draws the curves.

usage: growth.py BUILD [--runs N] [--only REGEX] [--svg FILE] [--tiny]

Needs about 6 GB of memory, and 10,050 file descriptors per process (ulimit -n).
"""

import argparse
import json
import math
import pathlib
import re
import statistics
import subprocess

LINEAR = 1.5  # The largest factor between a cost and the smallest cost of fewer objects.

# The name of a workload, what it counts, what costs time, what costs memory, and its numbers.
CURVES = [
    ('queues', 'queues on two threads', 'item', 'queue', [1, 2, 4, 8, 16, 32, 64]),
    ('tasks', 'tasks', 'task', 'task', [10**n for n in range(1, 8)]),
    ('connections', 'connections', 'echo', 'connection', [10**n for n in range(5)]),
    ('waiters', 'tasks waiting at one queue', 'task', 'task', [10**n for n in range(7)]),
    ('when-all', 'tasks in when_all', 'task', 'task', [2, *(10**n for n in range(1, 6))]),
]

STYLE = '''
    .page { fill: #ffffff; }
    .axis { fill: none; stroke: #57708a; stroke-width: 1; }
    .grid { stroke: #d5dee7; stroke-width: 1; }
    .limit { stroke: #b3541e; stroke-width: 1; stroke-dasharray: 4 3; }
    .curve { fill: none; stroke: #1f6fb2; stroke-width: 2; }
    .point { fill: #1f6fb2; }
    text { font-family: system-ui, sans-serif; font-size: 11px; fill: #3c4b5a; }
    .name { font-weight: 600; font-size: 13px; fill: #12202e; }
    @media (prefers-color-scheme: dark) {
      .page { fill: #0d1117; }
      .axis { stroke: #8aa4be; }
      .grid { stroke: #26323e; }
      .limit { stroke: #e08a55; }
      .curve { stroke: #6cb2f0; }
      .point { fill: #6cb2f0; }
      text { fill: #b8c4d0; }
      .name { fill: #f0f6fc; }
    }
'''
WIDTH, ROW = 760, 165
PANEL = 290, 100  # the width and height of a panel's plot
COLUMNS = 70, 450  # the left edges of the plots


def factors(costs):
    """Returns each cost relative to the smallest cost of at most as many objects."""
    return [cost / min(costs[:i + 1]) for i, cost in enumerate(costs)]


def power(number):
    """Returns a number as text, a power of ten with an exponent."""
    exponent = round(math.log10(number))
    if number < 1000 or number != 10**exponent:
        return f'{number:g}'
    return f'10<tspan dy="-4" font-size="8px">{exponent}</tspan>'


def quantity(value, unit):
    """Returns a number of ns or bytes as text, with a suitable unit."""
    names = {'ns': ['ns', 'µs', 'ms'], 'bytes': ['B', 'kB', 'MB']}[unit]
    while value >= 1000 and len(names) > 1:
        value, names = value / 1000, names[1:]
    return f'{value:.3g} {names[0]}'


def panel(left, top, numbers, costs, unit):
    """Yields the lines of one curve, with logarithmic axes."""
    width, height = PANEL
    low, high = math.floor(math.log10(min(costs) * 0.7) * 2) / 2, math.ceil(math.log10(max(costs) * 1.6) * 2) / 2
    first, last = math.log10(numbers[0]), math.log10(numbers[-1])

    def x(number):
        return round(left + width * (math.log10(number) - first) / (last - first), 1)

    def y(cost):
        return round(top + height * (1 - (math.log10(cost) - low) / (high - low)), 1)
    for exponent in range(math.ceil(low), math.floor(high) + 1):
        yield f'  <path class="grid" d="M{left} {y(10**exponent)}h{width}"/>'
        yield f'  <text x="{left - 6}" y="{y(10**exponent) + 4}" text-anchor="end">{quantity(10**exponent, unit)}</text>'
    limit = LINEAR * min(costs)
    yield f'  <path class="limit" d="M{left} {y(limit)}h{width}"/>'
    yield f'  <path class="axis" d="M{left} {top}v{height}h{width}"/>'
    for number in numbers:
        yield f'  <text x="{x(number)}" y="{top + height + 16}" text-anchor="middle">{power(number)}</text>'
    points = ' '.join(f'{x(n)},{y(c)}' for n, c in zip(numbers, costs))
    yield f'  <polyline class="curve" points="{points}"/>'
    for number, cost in zip(numbers, costs):
        yield f'  <circle class="point" cx="{x(number)}" cy="{y(cost)}" r="2.5"/>'
    yield (f'  <text x="{left + width}" y="{y(costs[-1]) + 15}" text-anchor="end">{quantity(costs[-1], unit)}</text>')


def picture(measured):
    """Returns an SVG of the curves. `measured` is the costs in ns and in bytes of each workload."""
    curves = [curve for curve in CURVES if curve[0] in measured]
    height = ROW * len(curves) + 10
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" role="img"',
             '    aria-labelledby="title">',
             '  <title id="title">Time and memory of one object as the number of objects grows, with logarithmic axes. A '
             'dashed line is 1.5 times the lowest cost.</title>',
             f'  <style>{STYLE}  </style>',
             f'  <rect class="page" width="{WIDTH}" height="{height}" rx="6"/>']
    for row, (name, counted, of_time, of_memory, numbers) in enumerate(curves):
        top = ROW * row + 34
        for left, unit, label in zip(COLUMNS, ('ns', 'bytes'), (f'time per {of_time}', f'memory per {of_memory}')):
            lines.append(f'  <text class="name" x="{left - 50}" y="{top - 14}">{counted}: {label}</text>')
            lines += panel(left, top, numbers, measured[name][unit], unit)
    return '\n'.join([*lines, '</svg>', ''])


def run(build, workload, runs):
    """Returns the median costs of a workload, in ns and in bytes."""
    results = []
    for _ in range(runs):
        done = subprocess.run([build / 'benches' / 'leat_growth_bench', '--workload', workload], check=True,
                              capture_output=True, text=True, timeout=300)
        results.append([json.loads(line)['value'] for line in done.stdout.splitlines()])
    return [statistics.median(values) for values in zip(*results)]


def main():
    parser = argparse.ArgumentParser(description='Measures how the cost of leat grows.')
    parser.add_argument('build', type=pathlib.Path, help='a build directory')
    parser.add_argument('--runs', type=int, default=3, help='runs of each number (default: 3)')
    parser.add_argument('--only', default='', metavar='REGEX', help='measure only the matching curves')
    parser.add_argument('--svg', type=pathlib.Path, help='draw the curves in this file')
    parser.add_argument('--tiny', action='store_true', help='one run of the smallest numbers, as a test')
    options = parser.parse_args()
    measured = {}
    print('| objects | number | time each | factor | memory each | factor |\n|---|---|---|---|---|---|')
    for name, counted, _, _, numbers in CURVES:
        if not re.search(options.only, name):
            continue
        wanted = numbers[:2] if options.tiny else numbers
        costs = [run(options.build, f'growth/{name}-{n}', 1 if options.tiny else options.runs) for n in wanted]
        ns, memory = ([cost[part] for cost in costs] for part in (0, 1))
        for number, time, slower, size, larger in zip(wanted, ns, factors(ns), memory, factors(memory)):
            print(f'| {counted} | {number:,} | {quantity(time, "ns")} | {slower:.2f} | {quantity(size, "bytes")} '
                  f'| {larger:.2f} |', flush=True)
        measured[name] = {'ns': ns, 'bytes': memory}
    if options.svg:
        options.svg.write_text(picture(measured))
    print(f'\nThe growth is linear if no factor is above {LINEAR}: the cost relative to the lowest of at most as many objects.')


if __name__ == '__main__':
    main()
