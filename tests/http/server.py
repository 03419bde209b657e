#!/usr/bin/env python3
"""The example http_server with curl, ab, and clients that are slow, broken or hostile.

    server.py SERVER
"""

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / 'oracle'))
import prometheus_text
from http_support import Server, patience, require

folder = pathlib.Path(tempfile.mkdtemp())
root = folder / 'root'
(root / 'folder').mkdir(parents=True)
large = os.urandom(1 << 20) * 8
for name, content in {'index.html': b'<p>hello', 'empty.txt': b'', 'large': large, '.secret': b'secret'}.items():
    (root / name).write_bytes(content)
(folder / 'outside').write_bytes(b'outside')
os.mkfifo(root / 'pipe')
with socket.socket(socket.AF_UNIX) as unopenable:
    unopenable.bind(str(root / 'socket'))  # open() fails with ENXIO
limits = {'root': root, 'header_size': 2048, 'body_size': 10_000, 'idle': 1500, 'header': 500, 'body': 500, 'write': 500,
          'linger': 300, 'drain': 10_000}


def check_requests(server):
    client = server.client()
    status, fields, body = client.get('/')
    require((status, body, fields['content-type']) == (200, b'<p>hello', 'text/html'), 'wrong file', status, fields, body)
    require(client.get('/empty.txt')[::2] == (200, b''), 'wrong empty file')
    require(client.get('/large')[::2] == (200, large), 'wrong large file')
    for target in ['/folder', '/folder/', '/missing', '/.secret', '/../outside', '/folder/../index.html', '/pipe', '/%00',
                   '/index.html/x', '/' + 300 * 'x']:
        require(client.get(target)[0] == 404, 'not 404', target)
    client.send(b'HEAD /large HTTP/1.1\r\nHost: x\r\n\r\n')
    status, fields, _ = client.response(with_body=False)
    require((status, fields['content-length']) == (200, str(len(large))), 'wrong response to HEAD', status, fields)
    client.send(b'DELETE / HTTP/1.1\r\nHost: x\r\n\r\n')
    status, fields, _ = client.response()
    require((status, fields['allow']) == (405, 'GET, HEAD'), 'wrong response to DELETE', status, fields)
    require(client.get('/echo')[0] == 405, 'GET /echo')
    client.send(b'POST /echo HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello')
    require(client.response()[::2] == (200, b'hello'), 'wrong echo')
    client.send(b'POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n')
    require(client.response()[::2] == (200, b'abcde'), 'wrong echo of chunks')
    for query in ['', '?', '?never', '?-1', '?1s', '?60001', '?99999999999']:
        require(client.get('/sleep' + query)[0] == 400, 'not 400', query)
    require(client.get('/socket')[0] == 500, 'an exception of the handler is not 500')
    client.send(3 * b'GET /sleep?20 HTTP/1.1\r\n\r\n' + b'GET /missing HTTP/1.1\r\nConnection: close\r\n\r\n')
    statuses = [client.response()[0] for _ in range(4)]
    require(statuses == [200, 200, 200, 404], 'wrong responses to pipelined requests', statuses)
    require(client.ends(), 'not closed after Connection: close')
    client = server.client()
    client.send(b'GET / HTTP/1.0\r\n\r\n')
    require(client.response()[0] == 200 and client.ends(), 'wrong response to HTTP/1.0')
    client = server.client()
    client.send(b'POST /echo HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n')
    require(client.response()[0] == 100, 'no response 100')
    client.send(b'ok')
    require(client.response()[2] == b'ok', 'wrong response after 100')


def check_metrics(server):
    client = server.client()
    status, fields, body = client.get('/metrics')
    require((status, fields['content-type']) == (200, 'text/plain; version=0.0.4; charset=utf-8'), 'wrong type', fields)
    families = prometheus_text.parse(body.decode())
    values = {name: samples[0][1] for name, (_, samples) in families.items() if samples}
    require(values['http_requests_total'] > 0 and values['http_connections'] == 1, 'wrong counters', values)
    require(values['leat_scheduler_turns_total'] > 0, 'no counters of leat', values)


def check_bad_requests(server):
    bad = {
        b'\1\2\3\r\n\r\n': 400,
        b'GET / HTTP/9.9\r\n\r\n': 400,
        b'GET / HTTP/1.1\r\nno colon\r\n\r\n': 400,
        b'GET / HTTP/1.1\nHost: x\n\n': 400,
        b'GET index.html HTTP/1.1\r\n\r\n': 400,
        b'GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n': 400,
        b'GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n': 400,
        b'GET / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n': 400,
        b'GET / HTTP/1.1\r\nX: ' + b'x' * 4000 + b'\r\n\r\n': 431,
        b'GET /' + b'x' * 100_000: 431,
        b'POST /echo HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n': 413,
        b'POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n' + b'x' * 0xffff: 413,
        b'POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n': 400,
        b'POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcdef\r\n0\r\n\r\n': 400,
        b'POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffffff\r\n': 400,
    }
    for data, status in bad.items():
        client = server.client()
        client.send(data)
        answer = client.response()
        require(answer and answer[0] == status, f'not {status}', data[:80], answer)
        client.close()
    server.require_alive('bad requests')
    client = server.client()
    began = time.monotonic()
    client.send(b'POST /echo HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n')
    with contextlib.suppress(OSError):  # until the server closes the connection
        while time.monotonic() - began < 5:
            client.send(bytes(100_000))
    require(time.monotonic() - began < 5, 'a client that keeps sending is not disconnected')
    client.close()


def check_slow_clients(server):
    def drip(client, data):
        try:
            for byte in data:
                client.send(bytes([byte]))
                time.sleep(0.1)
        except OSError:
            pass  # the server has closed the connection
    idle, header, body, deaf = (server.client(receive_buffer=4096) for _ in range(4))
    began = time.monotonic()
    threading.Thread(target=drip, args=[header, b'GET / HTTP/1.1\r\nHost: localhost'], daemon=True).start()
    body.send(b'POST /echo HTTP/1.1\r\nContent-Length: 100\r\n\r\n')
    threading.Thread(target=drip, args=[body, 100 * b'x'], daemon=True).start()
    deaf.send(3 * b'GET /large HTTP/1.1\r\n\r\n')
    require(header.response()[0] == 408, 'no 408 for a slow header')
    require(body.response()[0] == 408, 'no 408 for a slow body')
    require(time.monotonic() - began < 1.4, 'the limits of time are late')
    require(idle.ends(), 'an idle client receives bytes')
    server.require_connections_end('slow clients')
    deaf.close()


def check_lost_clients(server):
    middles = [b'', b'GET', b'GET / HTTP/1.1\r\n\r\n', b'GET /large HTTP/1.1\r\n\r\n',
               b'POST /echo HTTP/1.1\r\nContent-Length: 100\r\n\r\nabc', b'GET /sleep?100 HTTP/1.1\r\n\r\n',
               5 * b'GET /large HTTP/1.1\r\n\r\n']
    for middle in middles:
        for leave in ['reset', 'close', 'end']:
            client = server.client(receive_buffer=4096)
            client.send(middle)
            if middle.startswith(b'GET /large'):
                client.input.read(1000)  # in the middle of the file
            getattr(client, leave)()
            if leave != 'end':
                continue
            if b'/large' in middle:
                client.close()
                continue
            answer = client.response()
            expected = 400 if middle == b'GET' or middle.startswith(b'POST') else 200
            require((answer and answer[0]) == (expected if middle else None), 'half-closed', middle, answer)
            require(client.ends(), 'not closed after the end of the client')
    server.require_connections_end('lost clients')


def check_changed_file(server):
    path = root / 'changing'
    path.write_bytes(large)
    client = server.client(receive_buffer=4096)
    client.send(b'GET /changing HTTP/1.1\r\n\r\n')
    client.input.read(1000)
    os.truncate(path, 100)
    require(len(client.input.read()) < len(large), 'a file that became shorter')
    server.require_alive('a file that became shorter')


def check_tools(server):
    url = f'http://127.0.0.1:{server.port}'
    if shutil.which('curl'):
        done = subprocess.run(['curl', '-sS', '-w', '%{http_code} %{num_connects};', '-o', '/dev/null', f'{url}/',
                               '-o', '/dev/null', f'{url}/large'], capture_output=True, text=True, timeout=patience)
        require(done.stdout == '200 1;200 0;', 'curl', done)
        done = subprocess.run(['curl', '-sS', '-H', 'Expect: 100-continue', '--data-binary', '@-', f'{url}/echo'],
                              input=b'y' * 9000, capture_output=True, timeout=patience)
        require(done.stdout == b'y' * 9000, 'curl --data', done)
    if shutil.which('ab'):
        for keep_alive in [['-k'], []]:
            done = subprocess.run(['ab', '-q', *keep_alive, '-n', '1000', '-c', '20', f'{url}/index.html'],
                                  capture_output=True, text=True, timeout=patience)
            words = ' '.join(done.stdout.split())
            require('Complete requests: 1000 Failed requests: 0' in words and 'Non-2xx' not in words, 'ab', done)


def check_handlers():
    server = Server(**limits, handler=200)
    client = server.client()
    began = time.monotonic()
    require(client.get('/sleep?50000')[0] == 503, 'no 503 for a slow handler')
    require(time.monotonic() - began < 5, 'the time limit of the handler is late')
    for _ in range(200):
        require(client.get('/socket')[0] == 500, 'not 500')
    client.close()
    lines = server.stop().splitlines()
    require(lines[0].startswith('GET /sleep?50000: ') and lines[1].startswith('GET /socket: '), 'wrong errors', lines)
    require(len(lines) < 30, 'errors of handlers are not limited', len(lines))
    for argument in 'idle=-1', 'port=65536', 'idle=1s', 'idle=', 'unknown=1':
        done = subprocess.run([sys.argv[1], argument], capture_output=True, text=True, timeout=patience)
        name = argument.split('=')[0]
        require(done.returncode == 2 and done.stderr.startswith('error: ') and name in done.stderr, 'a bad argument', done)


def check_drain():
    server = Server(**limits | {'idle': 60_000})
    busy = [server.client() for _ in range(20)]
    idle = [server.client() for _ in range(5)]
    for client in idle:
        require(client.get('/')[0] == 200, 'wrong response')
    for client in busy:
        client.send(b'GET /sleep?600 HTTP/1.1\r\n\r\n')
    busy[0].send(b'GET /sleep?10 HTTP/1.1\r\n\r\n')
    unfinished = server.client()
    unfinished.send(b'GET / HTTP/1.1\r\n')
    while server.connections() != 26:
        time.sleep(0.01)
    server.terminate()
    require(server.refuses_clients(), 'a new client after SIGTERM')
    for client in idle:
        require(client.ends(), 'an idle connection receives bytes')
    unfinished.send(b'\r\n')
    require(unfinished.response()[0] == 200, 'no response to a request that was read in part')
    for client in busy[1:]:
        status, fields, _ = client.response()
        require((status, fields.get('connection')) == (200, 'close'), 'wrong response', status, fields)
    require([busy[0].response()[0] for _ in range(2)] == [200, 200], 'no response to a pipelined request')
    for client in [*busy, unfinished]:
        require(client.ends(), 'not closed after the last response')
        client.close()
    require(server.end() == '', 'an error without a reason')

    server = Server(**limits | {'drain': 300})
    client = server.client()
    client.send(b'GET /sleep?60000 HTTP/1.1\r\n\r\n')
    while server.connections() != 1:
        time.sleep(0.01)
    server.terminate()
    require(client.ends(), 'not stopped')
    errors = server.end(1)
    require(errors.startswith('connection 1 from 127.0.0.1:'), 'wrong report', errors)

    server = Server(**limits)
    client = server.client()
    client.send(b'GET /sleep?60000 HTTP/1.1\r\n\r\n')
    while server.connections() != 1:
        time.sleep(0.01)
    server.terminate()
    server.refuses_clients()
    server.stop(-signal.SIGTERM)

    for _ in range(5):  # immediately after the port is printed
        require(Server(**limits).stop() == '', 'an error without a reason')


def check_few_descriptors():
    server = Server(**limits, descriptors=24)
    clients = [server.client() for _ in range(30)]
    time.sleep(0.3)
    for client in clients:
        client.close()
    server.require_connections_end('too many open files')
    server.stop()
    server = Server(**limits | {'idle': 60_000}, connections=2)
    clients = [server.client() for _ in range(4)]
    require([client.get('/')[0] for client in clients[:2]] == [200, 200], 'wrong response')
    clients[2].send(b'GET / HTTP/1.1\r\n\r\n')
    clients[2].socket.settimeout(0.2)
    try:
        clients[2].socket.recv(1)
        require(False, 'more connections than the limit')
    except TimeoutError:
        clients[2].socket.settimeout(patience)
    clients[0].close()
    require(clients[2].socket.recv(12) == b'HTTP/1.1 200', 'not accepted after a connection has ended')
    server.stop()


try:
    others = [threading.Thread(target=check) for check in (check_drain, check_few_descriptors, check_handlers)]
    failed = []
    threading.excepthook = failed.append
    for thread in others:
        thread.start()
    server = Server(**limits)
    check_requests(server)
    server.require_connections_end('the first clients')
    for check in check_metrics, check_bad_requests, check_slow_clients, check_lost_clients, check_changed_file, check_tools:
        check(server)
    server.require_connections_end('all clients')
    server.stop()
    for thread in others:
        thread.join()
    require(not failed, 'a thread failed', *failed)
finally:
    shutil.rmtree(folder)
