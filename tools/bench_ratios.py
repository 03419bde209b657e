"""The recorded ratios of leat to its peers: benches/ratios.json.

For each kind of machine, the file contains the medians and the ranges of one run of bench.py, and the
versions of the peers in that run. bench.py --record writes it, and bench.py --guard compares a new run with it.
"""

import json
import os
import pathlib
import re
import subprocess

import bench_table

RECORD = pathlib.Path(__file__).resolve().parent.parent / 'benches' / 'ratios.json'
GROUPS = ('queue', 'task', 'sync', 'latency', 'asio', 'http')  # the first parts of the names of the tracked workloads
TRACKED = f'^({"|".join(GROUPS)})/'
UNSTEADY = '-p99.9'  # This percentile depends on few samples.
NO_ROW = {'unit': '', 'medians': {'leat': 0}}
ALLOWED = 0.9  # A ratio may be this part of the recorded one.

# Subjects that show a limit, and are no libraries, or cannot wait.
LIMITS = ('bare coroutines', 'empty promise', 'epoll', 'two threads that spin', 'std::mutex', 'std::mutex, one thread',
          'libcoro generator')
# The Debian packages of peers, by the first words of their subjects.
PACKAGES = {'Asio': 'libasio-dev', 'asio::': 'libasio-dev', 'boost::asio::': 'libboost1.81-dev',
            'Boost.Fiber': 'libboost-fiber1.81-dev', 'oneTBB': 'libtbb-dev', 'moodycamel': 'libconcurrentqueue-dev', 'Tokio': 'librust-tokio-dev'}


def kind_of_peer(subject):
    """Returns 'limit', 'other' for a queue without a bound, for one that does not serve producers in turn and for
    many threads, or 'peer'."""
    if subject in LIMITS:
        return 'limit'
    differs = 'unbounded' in subject or subject.endswith('not in turn') or subject == '1,000 threads'
    return 'other' if differs else 'peer'


def goal_of(subject):
    """Returns the ratio that leat should reach, or None."""
    return {'peer': 1, 'other': 0.9, 'limit': None}[kind_of_peer(subject)]


def machine_kind():
    """Returns the model of the processor and the number of processors that this process may use."""
    text = pathlib.Path('/proc/cpuinfo').read_text()

    def field(name):
        found = re.search(rf'^{name}\s*:\s*(.*)$', text, re.M)
        return found[1] if found else 'unknown'
    count = len(os.sched_getaffinity(0))
    return f'{field("model name")} (family {field("cpu family")}, model {field("model")}), {count} processors'


def load():
    return json.loads(RECORD.read_text())


def version_of(subject, versions):
    """Returns the version of the peer whose name is the longest that the subject begins with."""
    names = [name for name in versions if subject.startswith(name)]
    return versions[max(names, key=len)] if names else ''


def package_versions():
    found = {}
    for name, package in PACKAGES.items():
        done = subprocess.run(['dpkg-query', '--show', '--showformat=${Version}', package],
                              capture_output=True, text=True, check=False)
        if done.returncode == 0:
            found[name] = re.split(r'[-+]', done.stdout.split(':')[-1])[0]
    return found


def ratios(row):
    """Returns the ratio of each peer in a row, the lowest first. A row is a unit, and the median and the
    range of each subject."""
    own = row['medians']['leat']
    found = {subject: bench_table.ratio_of(own, median, row['unit'])
             for subject, median in row['medians'].items() if subject != 'leat'}
    return dict(sorted(found.items(), key=lambda item: item[1]))


def is_undecided(row, subject):
    """Returns True if the ranges of leat and of the peer overlap, so that the runs do not show which is better."""
    ranges = row.get('ranges', {})
    if subject not in ranges:
        return False
    (low, high), (own_low, own_high) = ranges[subject], ranges['leat']
    return low <= own_high and own_low <= high


def tracked(row):
    """Returns the recorded ratios that must not become worse: the lowest to a peer, and the lowest to a peer of
    another kind."""
    lowest = {}
    for subject, ratio in ratios(row).items():
        lowest.setdefault(kind_of_peer(subject), (subject, ratio))
    return [lowest[kind] for kind in ('peer', 'other') if kind in lowest]


def worse(recorded, measured):
    """Returns a line for each tracked ratio that is lower than ALLOWED times the recorded one, by workload and
    subject. The 99.9th percentile is not compared. Both arguments contain rows by the name of the workload."""
    lines = {}
    for workload, row in measured.items():
        if workload not in recorded or workload.endswith(UNSTEADY):
            continue  # a new workload, or one without peers
        now = ratios(row)
        for subject, before in tracked(recorded[workload]):
            if subject in now and now[subject] < ALLOWED * before:
                lines[workload, subject] = (f'{workload}: the ratio to {subject} is {now[subject]:.2f}, and the recorded '
                                            f'ratio is {before:.2f}')
    return lines


def text_of(ratio):
    """Returns a ratio with two digits after the point, or fewer if it is large."""
    if ratio < 0.1:
        return f'{ratio:.1g}'
    return f'{ratio:.2f}' if ratio < 10 else f'{ratio:.0f}'


def rounded(value):
    return float(f'{value:.4g}')


def record(measured, versions, runs):
    """Stores the rows that have peers, and the versions of these peers, for this kind of machine. Other rows stay as
    they are."""
    everything = load()
    machine = everything['machines'].setdefault(machine_kind(), {'versions': {}, 'rows': {}})
    subjects = {subject for row in measured.values() for subject in row['medians']}
    machine['versions'].update({name: version for name, version in versions.items()
                                if any(subject.startswith(name) for subject in subjects)})
    for workload, row in measured.items():
        if 'leat' not in row['medians'] or len(row['medians']) == 1:
            continue
        medians = {subject: rounded(median) for subject, median in row['medians'].items()}
        ranges = {subject: [rounded(end) for end in ends] for subject, ends in row.get('ranges', {}).items()}
        machine['rows'][workload] = {'unit': row['unit'], 'runs': runs, 'medians': medians, 'ranges': ranges}
    RECORD.write_text(json.dumps(everything, indent=1) + '\n')


def table(machines, group):
    """Returns the lines of the table of the workloads that begin with `group`. Each kind of machine that has rows of
    them has a column, because times of two machines cannot be compared, but ratios can."""
    machines = {kind: m for kind, m in machines.items() if any(w.startswith(group + '/') for w in m['rows'])}
    head = ['workload', 'peer', 'version', *(f'ratio on {kind}' for kind in machines)]
    lines = [f'| {" | ".join(head)} |', '|---' * len(head) + '|']
    workloads = dict.fromkeys(w for m in machines.values() for w in m['rows'] if w.startswith(group + '/'))
    for workload in workloads:
        rows = [m['rows'].get(workload, NO_ROW) for m in machines.values()]
        by_machine = [ratios(row) for row in rows]
        lowest = {}
        for found in by_machine:
            for subject, ratio in found.items():
                lowest[subject] = min(ratio, lowest.get(subject, ratio))
        place = f'`{workload}`'
        for subject in sorted(lowest, key=lowest.get):
            versions = dict.fromkeys(version_of(subject, m['versions']) for m in machines.values())
            cells = [text_of(found[subject]) + ' (undecided)' * is_undecided(row, subject) if subject in found else ''
                     for row, found in zip(rows, by_machine)]
            limit = ' (limit)' if kind_of_peer(subject) == 'limit' else ''
            lines.append(f'| {place} | {subject}{limit} | {"; ".join(v for v in versions if v)} | '
                         f'{" | ".join(cells)} |')
            place = ''
    return lines


def times(machine, group, goals):
    """Returns the lines of the table of times of one kind of machine. `goals` is `workloads` of goals.json."""
    lines = ['| workload | subject | median | goal |', '|---|---|---|---|']
    for workload, row in machine['rows'].items():
        if not workload.startswith(group + '/'):
            continue
        unit = row['unit'].split('/')[0].replace('us', 'µs').replace('bytes', 'B')
        goal = goals.get(workload, {}).get('goal')
        place = f'`{workload}`'
        for subject, median in row['medians'].items():
            wanted = f'{goal:g} {unit}' if goal and subject == 'leat' else ''
            lines.append(f'| {place} | {subject} | {bench_table.plain(median)} {unit} | {wanted} |')
            place = ''
    return lines
