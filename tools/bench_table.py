"""The table that bench.py prints: what was measured, beside the goals and the quoted figures of
benches/goals.json."""

import statistics

HEAD = ['| workload | subject | median | min..max | leat is | goal |', '|---|---|---|---|---|---|']


def is_rate(unit):
    return unit == 'GB/s'


def against_goal(median, unit, goal):
    """'12: reached', or by how much it was missed; a rate is to be at least its goal."""
    factor = goal / median if is_rate(unit) else median / goal
    return f'{goal:g}: reached' if round(factor, 2) <= 1 else f'{goal:g}: missed, {factor:.2f} times'


def against_peer(factor, goal):
    """'3 times: reached'; how many times it is stands beside it."""
    return f'{goal:g} times: {"reached" if round(factor, 2) >= goal else "missed"}'


def rows(workload, subjects, known):
    """The lines of one workload. `subjects`: the name of each program and its results, leat's own
    first; none where it is not built. `known`: what goals.json has of workloads."""
    about = known.get(workload, {})
    lines = []
    own = None
    for program, results in subjects:
        if not results:
            lines.append(f'| {workload} | {program} | not built | | | |')
            continue
        values = [r['value'] for r in results]
        median, unit = statistics.median(values), results[0]['unit']
        compared = goal = ''
        if own is None:
            own = median
            goal = against_goal(median, unit, about['goal']) if 'goal' in about else ''
        else:
            factor = own / median if is_rate(unit) else median / own
            compared = f'{factor:.2f} times as good'
            times = about.get('times', {}).get(results[0]['subject'])
            goal = against_peer(factor, times) if times else ''
        lines.append(f'| {workload} | {results[0]["subject"]} | {median:.3g} {unit} '
                     f'| {min(values):.3g}..{max(values):.3g} | {compared} | {goal} |')
    for peer, figure in about.get('quoted', {}).items():
        lines.append(f'| {workload} | {peer} | quoted: {figure} | | | |')
    return lines


def notes(goals):
    return [f'Goals were set on {goals["goals were set on"]}.',
            f'Quoted figures were not measured here, but on {goals["quoted were measured on"]}.']
