#!/usr/bin/env python3
"""Runs examples/observability: checks its spans as OTLP JSON, its logs, its metrics and the report of the
watchdog.

usage: observability.py SERVICE
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'oracle'))
import prometheus_text

TRACE, SPAN = '4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7'
VALID = f'00-{TRACE}-{SPAN}-01'
INVALID = [
    '', 'x', VALID[:-1], VALID + '0', VALID + '-00', VALID.upper(), f'ff-{TRACE}-{SPAN}-01',
    f'00-{"0" * 32}-{SPAN}-01', f'00-{TRACE}-{"0" * 16}-01', f'00-{TRACE}-{SPAN}-0g', f'0-{TRACE}-{SPAN}-001',
    f'00_{TRACE}-{SPAN}-01', f'00-{TRACE[:-1]}-{SPAN}-011', f' {VALID}',
]
FUTURE = f'cc-{TRACE}-{SPAN}-09-more'
UNSAMPLED = f'00-{TRACE}-{SPAN}-00'


def run(program, *headers):
    """Returns the spans, the log and the metrics of requests with these headers."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / 'spans.jsonl'
        done = subprocess.run([program, path, *headers], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return [span_of(line) for line in path.read_text().splitlines()], done.stderr, done.stdout


def only(items):
    assert len(items) == 1, items
    return items[0]


def span_of(line):
    """Checks a line against OTLP's schema, and returns its span."""
    request = json.loads(line)
    assert list(request) == ['resourceSpans'], request
    resource = only(request['resourceSpans'])
    assert set(resource) == {'resource', 'scopeSpans'}
    attribute = only(resource['resource']['attributes'])
    assert attribute == {'key': 'service.name', 'value': {'stringValue': 'shop'}}
    scope = only(resource['scopeSpans'])
    assert set(scope) == {'scope', 'spans'} and scope['scope']['name']
    span = only(scope['spans'])
    assert set(span) - {'parentSpanId', 'status'} == {
        'traceId', 'spanId', 'name', 'kind', 'startTimeUnixNano', 'endTimeUnixNano'}, span
    for member, digits in (('traceId', 32), ('spanId', 16), ('parentSpanId', 16)):
        if member in span:
            assert re.fullmatch(f'[0-9a-f]{{{digits}}}', span[member]) and set(span[member]) != {'0'}, span
    start, end = (span[member] for member in ('startTimeUnixNano', 'endTimeUnixNano'))
    assert isinstance(start, str) and isinstance(end, str)  # 64-bit numbers are strings
    assert 1e18 < int(start) <= int(end), span
    assert span['kind'] in (1, 2)
    return span


def check_request(spans, parent, log):
    """Checks the spans of one request, and that the lines of its tasks carry its trace."""
    root = only([s for s in spans if s['kind'] == 2])
    assert root['name'] == 'GET /item' and root.get('parentSpanId') == parent, root
    children = {s['name']: s for s in spans if s is not root}
    assert set(children) == {'load stock', 'load price', 'render'} and len(spans) == 4, spans
    for child in children.values():
        assert child['parentSpanId'] == root['spanId'] and child['traceId'] == root['traceId'], (root, child)
        assert int(root['startTimeUnixNano']) <= int(child['startTimeUnixNano'])
        assert int(child['endTimeUnixNano']) <= int(root['endTimeUnixNano'])
    assert len({s['spanId'] for s in spans}) == 4
    for name in ('stock', 'price'):
        assert f'[trace={root["traceId"]} task=load {name}] loads {name}\n' in log, log
    assert f'traceparent 00-{root["traceId"]}-{root["spanId"]}-01\n' in log, log
    return root['traceId']


def main():
    program, = sys.argv[1:]
    spans, log, metrics = run(program, VALID)
    assert check_request(spans, SPAN, log) == TRACE
    report = re.search(r"task 'render' has held its loop for (\d+) ms \(scheduler \d+, thread \d+\)\n"
                       r'  since yield at service\.cpp:\d+ in render\n', log)
    assert report and int(report[1]) >= 20, log
    assert re.search(r"task 'render' held its loop for \d+ ms, until yield at service\.cpp:\d+ in render", log), log

    lines = log.splitlines()
    assert '' not in lines, log  # a report is not followed by an empty line
    assert all(re.match(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d |  ', line) for line in lines), log

    families = prometheus_text.parse(metrics)
    queues = {labels['queue']: value for labels, value in families['leat_queue_pushed_items_total'][1]}
    assert queues['requests'] == 1, queues
    assert only(families['leat_scheduler_tasks'][1])[1] == 1
    assert only(families['leat_scheduler_long_turns_total'][1])[1] >= 1
    assert only(families['leat_scheduler_longest_turn_seconds'][1])[1] >= 0.06

    spans, log, _ = run(program, FUTURE)
    assert check_request(spans, SPAN, log) == TRACE
    spans, log, _ = run(program, UNSAMPLED)
    assert spans == [] and f'[trace={TRACE} task=load stock]' in log and f'{TRACE}-{SPAN}' not in log

    spans, log, _ = run(program, *INVALID)
    traces = {s['traceId'] for s in spans}
    assert len(traces) == len(INVALID) and TRACE not in traces, spans
    for trace in traces:
        check_request([s for s in spans if s['traceId'] == trace], None, log)
    # Spans that cannot be written do not disturb the service, which reports them.
    done = subprocess.run([program, '/dev/full', VALID], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and ' error [-] 4 spans are lost\n' in done.stderr, done.stderr
    print(f'{len(INVALID)} invalid headers began traces of their own')


if __name__ == '__main__':
    main()
