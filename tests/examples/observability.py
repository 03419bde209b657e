#!/usr/bin/env python3
"""Runs examples/observability: checks its spans as OTLP JSON, its logs, its metrics, its dumps and the report of
the watchdog.

usage: observability.py SERVICE
"""

import fcntl
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

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


def start(program, path, requests):
    return subprocess.Popen([program, path, *requests], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(service):
    """Returns the metrics and the log of a service that ends in time."""
    out, log = service.communicate(timeout=60)
    assert service.returncode == 0, (service.returncode, log)
    return out, log


def run(program, *headers, item='book'):
    """Returns the spans, the log and the metrics of requests with these headers."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / 'spans.jsonl'
        path.write_text('of an earlier run\n')
        metrics, log = finish(start(program, path, [f'{item}={header}' for header in headers]))
        first, *lines = path.read_text().splitlines()
        assert first == 'of an earlier run', first
        return [span_of(line) for line in lines], log, metrics


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
    assert span['kind'] in (1, 2, 3)
    return span


def check_request(spans, parent, log):
    """Checks the spans of one request, and that the lines of its tasks carry its trace."""
    root = only([s for s in spans if s['kind'] == 2])
    assert root['name'] == 'GET /item' and root.get('parentSpanId') == parent, root
    children = {s['name']: s for s in spans if s is not root}
    assert set(children) == {'load stock', 'load price', 'render', 'GET /price'} and len(spans) == 5, spans
    call = children['GET /price']
    assert {name for name, s in children.items() if s['kind'] == 3} == {'GET /price'}, spans
    for child in children.values():
        above = children['load price'] if child is call else root
        assert child['parentSpanId'] == above['spanId'] and child['traceId'] == root['traceId'], spans
        assert int(above['startTimeUnixNano']) <= int(child['startTimeUnixNano'])
        assert int(child['endTimeUnixNano']) <= int(above['endTimeUnixNano'])
    assert len({s['spanId'] for s in spans}) == 5
    trace = root['traceId']
    assert f'[trace={trace} task=load stock] loads the stock\n' in log, log
    assert f'[trace={trace} task=load price] sends traceparent 00-{trace}-{call["spanId"]}-01\n' in log, log
    assert f'[trace={trace}] answers\n' in log, log
    return trace


def check_admin(program):
    """Checks what the service answers while it serves requests."""
    with start(program, '/dev/null', [f'book={VALID}'] * 20) as service:
        address = f'http://127.0.0.1:{re.search("on port ([0-9]+)$", service.stderr.readline())[1]}'

        def get(path):
            with urllib.request.urlopen(address + path, timeout=10) as response:
                return response.headers['Content-Type'], response.read().decode()

        kind, metrics = get('/metrics')
        assert kind == 'text/plain; version=0.0.4; charset=utf-8', kind
        assert prometheus_text.parse(metrics)['spans_dropped_total'][1][0][1] == 0
        kind, dump = get('/dump')
        assert kind == 'text/plain' and f'with trace {TRACE}\n' in dump, dump
        try:
            get('/metricsx')
            raise AssertionError('an unknown path')
        except urllib.error.HTTPError as e:
            assert e.code == 404
        service.send_signal(signal.SIGUSR1)
        _, log = finish(service)
    assert f'leat dump 1 of process {service.pid}' in log, log


def check_pipe(program):
    """Checks that a reader of the spans that stalls, or leaves, does not disturb the service."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / 'pipe'
        os.mkfifo(path)
        for stalls in (True, False):
            reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            fcntl.fcntl(reader, 1031, 4096)  # F_SETPIPE_SZ
            with start(program, path, [f'book={VALID}'] * 5) as service:
                service.stderr.readline()  # it has opened the pipe
                if not stalls:
                    os.close(reader)
                _, log = finish(service)
            if stalls:
                os.close(reader)
            lost = re.search(r' error \[-\] (\d+) spans are lost\n', log)
            assert lost and 0 < int(lost[1]) < 25 + (not stalls), log


def main():
    program, = sys.argv[1:]
    spans, log, metrics = run(program, VALID)
    assert check_request(spans, SPAN, log) == TRACE
    report = re.search(r"task 'render' has held its loop for (\d+) ms \(scheduler \d+, thread \d+\);"
                       r' +since yield at service\.cpp:\d+ in render;', log)
    assert report and int(report[1]) >= 20, log
    assert re.search(r"task 'render' held its loop for \d+ ms, until yield at service\.cpp:\d+ in render", log), log

    lines = log.splitlines()
    # A report is a single line, too.
    assert all(re.match(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d ', line) for line in lines), log

    families = prometheus_text.parse(metrics)
    queues = {labels['queue']: value for labels, value in families['leat_queue_pushed_items_total'][1]}
    assert queues['requests'] == 1, queues
    assert only(families['spans_dropped_total'][1])[1] == 0
    schedulers = {name: [value for _, value in families[f'leat_scheduler_{name}'][1]]
                  for name in ('tasks', 'long_turns_total', 'longest_turn_seconds')}
    assert len(schedulers['tasks']) == 2 and max(schedulers['longest_turn_seconds']) >= 0.06, schedulers
    assert max(schedulers['long_turns_total']) >= 1, schedulers

    spans, log, _ = run(program, FUTURE)
    assert check_request(spans, SPAN, log) == TRACE
    spans, log, _ = run(program, UNSAMPLED)
    assert spans == [] and f'[trace={TRACE} task=load stock]' in log and f'{TRACE}-{SPAN}' not in log

    spans, log, _ = run(program, *INVALID)
    traces = {s['traceId'] for s in spans}
    assert len(traces) == len(INVALID) and TRACE not in traces, spans
    for trace in traces:
        check_request([s for s in spans if s['traceId'] == trace], None, log)
    # An exception is the status of the span, and its line in the log has the trace.
    spans, log, _ = run(program, VALID, item='pen')
    assert only(spans)['status'] == {'code': 2, 'message': 'no such item'}, spans
    assert f" error [trace={TRACE}] no such item\n" in log, log
    # Spans that cannot be written do not disturb the service, which reports them.
    _, log = finish(start(program, '/dev/full', [f'book={VALID}']))
    assert ' error [-] 5 spans are lost\n' in log, log
    check_pipe(program)
    check_admin(program)
    print(f'{len(INVALID)} invalid headers began traces of their own')


if __name__ == '__main__':
    main()
