"""The results in docs/results.md and README.md, from the JSON files in benches.

The name of a table is a list in results.json, or `goals`, `readme` or `instructions`, or `ratios-GROUP` or `times-GROUP` for the
workloads of ratios.json that begin with GROUP.
"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / 'tools'))
import bench_ratios  # noqa: E402
import bench_table  # noqa: E402

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


def tables_of_times(machines, group, goals):
    lines = []
    for kind, machine in machines.items():
        counts = sorted({row['runs'] for w, row in machine['rows'].items() if w.startswith(group + '/')})
        if not counts:
            continue
        runs = ' or '.join(map(str, counts)) + (' run' if counts == [1] else ' runs')
        lines += [f'On {kind}, {runs}:', '', *bench_ratios.times(machine, group, goals), '']
    return lines[:-1]


def span(lowest, highest):
    texts = list(dict.fromkeys(bench_ratios.text_of(ratio) for ratio in (lowest, highest)))
    return ' to '.join(texts)


def table_of_readme(tables, recorded):
    """The lowest ratio of each labelled workload, over all machines, and its peer."""
    lines = ['| workload | fastest alternative | ratio |', '|---|---|---|']
    for workload, label in recorded['readme'].items():
        of = {}
        for machine in recorded['machines'].values():
            for subject, ratio in bench_ratios.ratios(machine['rows'].get(workload, bench_ratios.NO_ROW)).items():
                if bench_ratios.kind_of_peer(subject) != 'limit':
                    of.setdefault(subject, []).append(ratio)
        peer = min(of, key=lambda s: min(of[s]))
        lines.append(f'| {label} | {peer} | {span(min(of[peer]), max(of[peer]))} |')
    for entry in (e for entries in tables.values() for e in entries if 'readme' in e):
        label, peer = entry['readme']['label'], entry['readme']['peer']
        result = next(r for r in entry['results'] if r['subject'] == peer)
        lines.append(f'| {label} | {peer} | {result.get("all machines", result["ratio"])} |')
    return lines


def table_of_instructions(own, peers):
    """`own`: the counts of each build. Names the peer with the fewest instructions."""
    lines = [f'| workload | {" | ".join(own)} | fewest of a peer |', f'|---|{"---|" * len(own)}---|']
    for workload in dict.fromkeys(workload for of in own.values() for workload in of):
        counts = {peer: count for peer, count in peers.get(workload, {}).items()
                  if bench_ratios.kind_of_peer(peer) != 'limit'}
        least = min(counts, key=counts.get, default='')
        cells = [f'{of[workload]:,}' if workload in of else '' for of in own.values()]
        peer = f'{counts[least]:,} ({least})' if least else ''
        lines.append(f'| `{workload}` | {" | ".join(cells)} | {peer} |')
    return lines


def tables(root):
    results = json.loads((root / 'benches' / 'results.json').read_text())
    goals = json.loads((root / 'benches' / 'goals.json').read_text())['workloads']
    wanted = {name: table_of_results(entries, goals) for name, entries in results.items()}
    recorded = bench_ratios.load()
    wanted.update(goals=table_of_goals(goals), readme=table_of_readme(results, recorded))
    own, peers = (json.loads((root / 'benches' / f'{name}.json').read_text())
                  for name in ('instructions', 'peer_instructions'))
    wanted['instructions'] = table_of_instructions(own, peers['instructions'])
    for group in bench_ratios.GROUPS:
        wanted[f'ratios-{group}'] = bench_ratios.table(recorded['machines'], group)
        wanted[f'times-{group}'] = tables_of_times(recorded['machines'], group, goals)
    return {name: '\n'.join(lines) + '\n' for name, lines in wanted.items()}
