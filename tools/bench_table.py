"""The table that bench.py prints: the measured results, with the goals and the quoted results of
benches/goals.json."""

import statistics

HEAD = ['| workload | subject | median | min..max | ratio | goal |', '|---|---|---|---|---|---|']


def is_rate(unit):
    return unit == 'GB/s'


def ratio_of(own, peer, unit):
    """How many times as good as the peer leat is: more is better for a rate, less for the rest."""
    return own / peer if is_rate(unit) else peer / own


def plain(number):
    """Returns a number with three digits, and without an exponent."""
    return f'{number:,.0f}' if number >= 100 else f'{number:.3g}'


def against_goal(median, unit, goal):
    """Returns '12 ns: reached', or the factor by which leat missed the goal. The goal is the lowest rate,
    or the highest value in another unit."""
    factor = ratio_of(goal, median, unit)
    outcome = 'reached' if round(factor, 2) <= 1 else f'missed by a factor of {factor:.2f}'
    return f'{goal:g} {unit}: {outcome}'


def against_peer(factor, goal):
    """Returns 'ratio 3: reached' or 'ratio 3: missed'."""
    return f'ratio {goal:g}: {"reached" if round(factor, 2) >= goal else "missed"}'


def rows(workload, subjects, known, usual_goal=lambda subject: None):
    """Returns the lines of one workload. `subjects` is the name of each program and its results, leat
    first; the results are empty if the program is not built. `known` is `workloads` of goals.json.
    `usual_goal` returns the goal of a ratio that goals.json does not mention, or None."""
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
            factor = ratio_of(own, median, unit)
            compared = f'{factor:.2f}'
            subject = results[0]['subject']
            times = about.get('times', {}).get(subject, usual_goal(subject))
            goal = against_peer(factor, times) if times else ''
        lines.append(f'| {workload} | {results[0]["subject"]} | {median:.3g} {unit} '
                     f'| {min(values):.3g}..{max(values):.3g} | {compared} | {goal} |')
    for peer, result in about.get('quoted', {}).items():
        lines.append(f'| {workload} | {peer} | quoted: {result} | | | |')
    return lines


def notes(goals):
    return ['A ratio above 1 means that leat is better: faster, or smaller.',
            f'The goals were set on {goals["goals were set on"]}.',
            f'Quoted results were not measured here, but on {goals["quoted were measured on"]}.']
