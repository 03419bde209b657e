#!/usr/bin/env python3
"""The tables of results in docs/results.md and README.md are generated from benches/results.json and benches/goals.json.

A table is between these lines, where NAME is a list in results.json, or `goals`, or `readme`:

    <!-- table: NAME -->
    <!-- /table -->

With --fix the tables are written again.
"""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / 'tools'))
import bench_table  # noqa: E402

TABLE = re.compile(r'(<!-- table: (\S+) -->\n)(.*?)(<!-- /table -->)', re.S)
ROUNDING = 0.05  # The recorded ratios were computed before the medians were rounded.


def number(text):
    return float(text.replace(',', ''))


def ratio(own, peer, unit):
    """The recorded ratio of a peer's result, or one that is computed from the medians."""
    factor = bench_table.ratio_of(number(own['median']), number(peer['median']), unit)
    if 'ratio' not in peer:
        return f'{factor:.2g}'
    if abs(number(peer['ratio']) / factor - 1) > ROUNDING:
        sys.exit(f'benches/results.json: {peer}: the ratio is {peer["ratio"]}, and the medians give {factor:.3g}')
    return peer['ratio']


def table_of_results(entries, goals):
    lines = ['| workload | run | subject | median (range) | ratio (all machines) | goal |', '|---|---|---|---|---|---|']
    for entry in entries:
        own, unit = entry['results'][0], entry['unit']
        about = goals.get(entry['workload'], {})
        place = f'`{entry["workload"]}` | {entry["run"]}'
        for result in entry['results']:
            times = about.get('times', {}).get(result['subject'])
            compared = goal = ''
            if result is not own:
                compared = ratio(own, result, unit)
                goal = bench_table.against_peer(number(compared), times) if times else ''
            elif 'goal' in about:
                goal = bench_table.against_goal(number(own['median']), unit, about['goal'])
            spread = f' ({result["range"]})' if 'range' in result else ''
            machines = f' ({result["all machines"]})' if 'all machines' in result else ''
            lines.append(f'| {place} | {result["subject"]} | {result["median"]} {unit}{spread} | {compared}{machines} | {goal} |')
            place = '|'
    return lines


def table_of_goals(goals):
    lines = ['| workload | goal | quoted peer | result |', '|---|---|---|---|']
    for workload, about in goals.items():
        place = f'`{workload}` | {about.get("stated", "")}'
        quoted = list(about.get('quoted', {}).items()) or [('', '')] * ('stated' in about)
        for peer, result in quoted:
            lines.append(f'| {place} | {peer} | {result} |')
            place = '|'
    return lines


def table_of_readme(tables):
    lines = ['| workload | leat | alternatives | leat is faster by |', '|---|---|---|---|']
    for entry in (e for entries in tables.values() for e in entries if 'readme' in e):
        of = {result['subject']: result for result in entry['results']}
        peers = [of[name] for name in entry['readme']['peers']]
        others = ', '.join(f'{p["median"]} {entry["unit"]} ({p["subject"]})' for p in peers)
        factors = ', '.join(p.get('all machines', p['ratio']) for p in peers)
        lines.append(f'| {entry["readme"]["label"]} | {of["leat"]["median"]} {entry["unit"]} | {others} | {factors} |')
    return lines


def main():
    fix = '--fix' in sys.argv[2:]
    tables = json.loads((ROOT / 'benches' / 'results.json').read_text())
    goals = json.loads((ROOT / 'benches' / 'goals.json').read_text())['workloads']
    wanted = {name: table_of_results(entries, goals) for name, entries in tables.items()}
    wanted.update(goals=table_of_goals(goals), readme=table_of_readme(tables))
    count = 0
    missing = set(wanted)
    for page in (ROOT / 'README.md', ROOT / 'docs' / 'results.md'):
        text = original = page.read_text()
        for _, name, old, _ in TABLE.findall(original):
            new = '\n'.join(wanted[name]) + '\n' if name in wanted else old
            missing.discard(name)
            if name not in wanted:
                print(f'{page.name}: there is no table {name} in benches/results.json')
                count += 1
            elif old != new and fix:
                text = text.replace(f'<!-- table: {name} -->\n{old}', f'<!-- table: {name} -->\n{new}')
            elif old != new:
                print(f'{page.name}: the table {name} differs from benches/results.json: run ./dev lint --fix')
                count += 1
        if text != original:
            page.write_text(text)
    for name in sorted(missing):
        print(f'docs/results.md: the table {name} is missing')
        count += 1
    return 1 if count else 0


if __name__ == '__main__':
    sys.exit(main())
