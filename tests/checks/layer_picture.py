#!/usr/bin/env python3
"""Checks that docs/layers.svg shows the layers of layers.py: each with its folders, and an arrow to each of the nearest
layers that it may include. With --fix it draws the picture. Add a new layer to BOXES first."""

import pathlib
import sys
import textwrap

from layers import ALLOWED, FOLDERS

WIDTH, HEIGHT = 580, 656
# x, y, width and height of each layer.
BOXES = {
    'train': (10, 76, 380, 60),
    'pipeline': (10, 160, 380, 60),
    'input': (10, 244, 380, 40),
    'coordination': (10, 308, 180, 40),
    'queue': (10, 372, 80, 40),
    'sync': (110, 372, 80, 40),
    'io': (210, 308, 180, 104),
    'sim': (410, 308, 160, 104),
    'tensor': (10, 448, 110, 78),
    'codec': (140, 448, 140, 122),
    'async': (300, 448, 270, 78),
    'base': (10, 594, 560, 52),
}
PROGRAMS = (10, 10, 560, 40)
# The points of each arrow, from the including layer to the included one.
ARROWS = {
    ('train', 'pipeline'): [(200, 136), (200, 160)],
    ('pipeline', 'input'): [(200, 220), (200, 244)],
    ('input', 'coordination'): [(100, 284), (100, 308)],
    ('input', 'io'): [(300, 284), (300, 308)],
    ('coordination', 'queue'): [(50, 348), (50, 372)],
    ('coordination', 'sync'): [(150, 348), (150, 372)],
    ('queue', 'tensor'): [(40, 412), (40, 448)],
    ('queue', 'async'): [(65, 412), (65, 436), (320, 436), (320, 448)],
    ('sync', 'async'): [(150, 412), (150, 424), (342, 424), (342, 448)],
    ('io', 'codec'): [(245, 412), (245, 448)],
    ('io', 'async'): [(365, 412), (365, 448)],
    ('sim', 'async'): [(490, 412), (490, 448)],
    ('sim', 'io/backend'): [(410, 360), (390, 360)],
    ('codec', 'tensor'): [(140, 486), (120, 486)],
    ('tensor', 'base'): [(65, 526), (65, 594)],
    ('async', 'base'): [(435, 526), (435, 594)],
}
STYLE = """
    .page { fill: #ffffff; }
    .box { fill: #eef3f8; stroke: #57708a; }
    .apart { fill: none; stroke: #57708a; stroke-dasharray: 4 3; }
    .arrow { fill: none; stroke: #57708a; stroke-width: 1.5; }
    .head { fill: #57708a; }
    text { font-family: system-ui, sans-serif; font-size: 13px; fill: #3c4b5a; }
    .name { font-weight: 600; font-size: 16px; fill: #12202e; }
    @media (prefers-color-scheme: dark) {
      .page { fill: #0d1117; }
      .box { fill: #1b2631; stroke: #8aa4be; }
      .apart, .arrow { stroke: #8aa4be; }
      .head { fill: #8aa4be; }
      text { fill: #b8c4d0; }
      .name { fill: #f0f6fc; }
    }
"""


def nearest(layer):
    """Returns the layers that a layer may include, except those that it reaches through another one."""
    def below(name, seen):
        for lower in ALLOWED.get(name, set()) if '/' not in name else {name.split('/')[0]}:
            if lower not in seen:
                seen.add(lower)
                below(lower, seen)
        return seen
    return {target for target in ALLOWED[layer]
            if not any(target in below(other, set()) for other in ALLOWED[layer] - {target} if '/' not in other)}


def folders_of(layer):
    return [f for f in FOLDERS.get(layer, ['.']) if f != '.']


def box(layer):
    x, y, width, height = BOXES[layer]
    lines = textwrap.wrap(', '.join(folders_of(layer)), (width - 20) // 7)
    for lower, _, folder in (t.partition('/') for t in sorted(ALLOWED[layer]) if '/' in t):
        lines.append(f'of {lower}, only {folder}')
    first = y + (height - 17 * len(lines)) // 2 + 6
    yield f'  <rect class="box" x="{x}" y="{y}" width="{width}" height="{height}" rx="5"/>'
    yield f'  <text class="name" x="{x + 10}" y="{first}">{layer}</text>'
    for number, line in enumerate(lines, 1):
        yield f'  <text x="{x + 10}" y="{first + 1 + 17 * number}">{line}</text>'


def arrow(points):
    (x0, y0), (x1, y1) = points[-2:]
    dx, dy = (x1 > x0) - (x1 < x0), (y1 > y0) - (y1 < y0)
    back, end = (x1 - 8 * dx, y1 - 8 * dy), ' '.join(f'{x},{y}' for x, y in points[:-1])
    yield f'  <polyline class="arrow" points="{end} {back[0]},{back[1]}"/>'
    yield (f'  <polygon class="head" points="{x1},{y1} {back[0] - 4 * dy},{back[1] - 4 * dx} '
           f'{back[0] + 4 * dy},{back[1] + 4 * dx}"/>')


def picture():
    x, y, width, height = PROGRAMS
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img"',
        '    aria-labelledby="title">',
        '  <title id="title">The layers of leat and their folders, with an arrow to each of the nearest layers that a '
        'layer may include</title>',
        f'  <style>{STYLE}  </style>',
        f'  <rect class="page" width="{WIDTH}" height="{HEIGHT}" rx="6"/>',
        f'  <rect class="apart" x="{x}" y="{y}" width="{width}" height="{height}" rx="5"/>',
        f'  <text x="{x + 10}" y="{y + 25}">your program, <tspan class="name">tools/leat</tspan>, examples, benches: '
        'the public headers of all layers</text>',
    ]
    for layer in BOXES:
        lines += box(layer)
    for points in ARROWS.values():
        lines += arrow(points)
    return '\n'.join([*lines, '</svg>', ''])


def main():
    root, fix = pathlib.Path(sys.argv[1]), '--fix' in sys.argv[2:]
    found = [f'{layer}: not in BOXES: add its position' for layer in ALLOWED if layer not in BOXES]
    found += [f'{layer}: in BOXES, but not a layer' for layer in BOXES if layer not in ALLOWED]
    wanted = {(layer, target) for layer in ALLOWED for target in nearest(layer)}
    found += [f'{a} -> {b}: not in ARROWS: add its points' for a, b in sorted(wanted - set(ARROWS))]
    found += [f'{a} -> {b}: in ARROWS, but {b} is not one of the nearest layers' for a, b in sorted(set(ARROWS) - wanted)]
    file = root / 'docs' / 'layers.svg'
    if not found:
        if fix:
            file.write_text(picture())
        elif not file.is_file() or file.read_text() != picture():
            found.append('docs/layers.svg: differs from layers.py: run ./dev lint --fix')
    print('\n'.join(found))
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
