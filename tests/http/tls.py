#!/usr/bin/env python3
"""The example http_server with TLS, and the example http_client with both.

    tls.py SERVER CLIENT
"""

import contextlib
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

from http_support import Client, Server, make_certificates, patience, require, reset

http_client = sys.argv[2]
folder = pathlib.Path(tempfile.mkdtemp())


class ScriptedServer:
    """Accepts connections, and calls a function with each one and its number."""

    def __init__(self, answer, address='127.0.0.1'):
        family = socket.AF_INET6 if ':' in address else socket.AF_INET
        self.listener = socket.create_server((address, 0), family=family)
        self.port = self.listener.getsockname()[1]
        self.answer = answer
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        for number in range(1000):
            connection, _ = self.listener.accept()
            threading.Thread(target=self.answer, args=[connection, number], daemon=True).start()


def answer(body=b'ok'):
    return b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n' % len(body) + body


def run_client(port, *options, scheme='http', host='127.0.0.1', target='/'):
    return subprocess.run([http_client, f'url={scheme}://{host}:{port}{target}', *options], capture_output=True, text=True,
                          timeout=patience)


def check_tls_server(server, tls):
    url = f'https://localhost:{server.port}/'
    client = server.client()
    require([client.get('/')[0] for _ in range(2)] == [200, 200], 'wrong response')
    client.send(b'\1\2\3\r\n\r\n')
    require(client.response()[0] == 400, 'not 400')
    if shutil.which('curl'):
        done = subprocess.run(['curl', '-sS', '--cacert', folder / 'ca.pem', url], capture_output=True, timeout=patience)
        require(done.stdout == b'hello', 'curl', done)

    plain = Client(server.port)
    plain.send(b'GET / HTTP/1.1\r\n\r\n')
    require(not plain.input.read().startswith(b'HTTP'), 'a response to plain text')
    server.require_alive('plain text')
    try:
        Client(server.port, ssl.create_default_context())
        require(False, 'an unknown authority is accepted')
    except ssl.SSLCertVerificationError:
        server.require_alive('a client that rejects the certificate')
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    old.maximum_version = ssl.TLSVersion.TLSv1_1
    try:
        Client(server.port, old)
        require(False, 'TLS 1.1 is accepted')
    except ssl.SSLError:
        server.require_alive('TLS 1.1')

    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        tls.wrap_bio(incoming, outgoing, server_hostname='localhost').do_handshake()
    except ssl.SSLWantReadError:
        hello = outgoing.read()
    stalled, mute = Client(server.port), Client(server.port)
    stalled.send(hello)
    for leave in 'reset', 'close':
        for part in hello[:100], hello:
            client = Client(server.port)
            client.send(part)
            getattr(client, leave)()
    client = Client(server.port)
    client.send(hello[:-10] + 10 * b'x' + b'garbage')
    client.close()
    for middle in [b'GET /large HTTP/1.1\r\n\r\n', b'GET / HT', b'']:
        for leave in reset, socket.socket.close:
            client = server.client()
            client.send(middle)
            client.input.close()
            leave(client.socket)  # without the end of the TLS stream
    deaf = server.client(receive_buffer=4096)
    deaf.send(3 * b'GET /large HTTP/1.1\r\n\r\n')
    slow = server.client()
    slow.send(b'GET / HT')
    require(slow.response()[0] == 408, 'no 408')
    for client in stalled, mute:
        client.input.read()  # until the limit of the handshake
    server.require_connections_end('TLS clients')

    done = run_client(server.port, f'authorities={folder}/ca.pem', 'count=200', 'connections=4', scheme='https', host='localhost')
    require(done.stdout == '200: 200\nfailed: 0\nconnections: 4\n', 'a client with TLS', done)
    done = run_client(server.port, scheme='https', host='localhost')
    require(done.returncode == 1 and 'certificate verify failed' in done.stderr, 'an unknown authority is accepted', done)
    done = run_client(server.port, f'authorities={folder}/ca.pem', scheme='https')
    require(done.returncode == 1 and 'certificate verify failed' in done.stderr, 'a wrong host name is accepted', done)

    client = server.client()
    client.send(b'GET /sleep?400 HTTP/1.1\r\n\r\n')
    idle = server.client()
    require(idle.get('/')[0] == 200, 'wrong response')
    time.sleep(0.2)
    server.terminate()
    require(client.response()[0] == 200, 'no response to a request in flight')
    require(client.ends() and idle.ends(), 'not closed')
    client.close()
    idle.close()
    server.end()


def check_413(tls):
    """A client that is sending a large body receives the complete response."""
    server = Server(tls, root=folder, certificate=folder / 'server.pem', key=folder / 'server.key', linger=5000)
    client = server.client()
    try:
        client.send(b'POST /echo HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n' + bytes(300_000))
        time.sleep(0.2)  # the server has sent the response
        for _ in range(10):
            client.send(bytes(100_000))
        answer = client.response()
        require(answer and answer[0] == 413 and answer[2], 'not 413', answer)
        require(client.input.read() == b'', 'bytes after the response')
    except OSError as error:
        require(False, 'the connection is reset before the client has read the response', error)
    client.close()
    server.stop()


def check_names(tls):
    """The field Host, and the host name of TLS, which is not an address."""
    asked = []

    def one_request(connection, _):
        asked.append(connection.recv(1000).decode())
        connection.sendall(answer())
        connection.close()
    for address, host in ('127.0.0.1', '127.0.0.1'), ('127.0.0.1', 'localhost'), ('::1', '[::1]'):
        try:
            server = ScriptedServer(one_request, address)
        except OSError:
            continue  # no IPv6
        done = run_client(server.port, host=host, target='?a=/b#c')
        require(done.stdout == 'ok', 'no response', host, done)
        request = asked.pop()
        require(request.startswith('GET /?a=/b HTTP/1.1\r\n') and f'\r\nHost: {host}:{server.port}\r\n' in request,
                'wrong request', request)
    done = run_client(80, host='')
    require((done.returncode, done.stderr) == (2, 'error: url: the host is missing\n'), 'no host', done)

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / 'server.pem', folder / 'server.key')
    context.sni_callback = lambda _, name, __: asked.append(name)

    def handshake(connection, _):
        with contextlib.suppress(OSError):
            context.wrap_socket(connection, server_side=True)
    server = ScriptedServer(handshake)
    for host in '127.0.0.1', 'localhost':
        run_client(server.port, f'authorities={folder}/ca.pem', 'deadline=2000', scheme='https', host=host)
    require(asked == [None, 'localhost'], 'wrong host names of TLS', asked)


def check_client(server):
    done = run_client(server.port, 'count=300', 'connections=4')
    require(done.stdout == '200: 300\nfailed: 0\nconnections: 4\n', 'a client', done)
    done = run_client(server.port, target='/missing')
    require((done.returncode, done.stdout) == (0, 'not found\n'), 'a missing file', done)

    # The first connection is slow: its request is hedged, and the connection is not used again.
    lost = threading.Event()

    def first_is_slow(connection, number):
        stream = connection.makefile('rb')
        while (line := stream.readline()):
            if line != b'\r\n':
                continue
            if number == 0:
                connection.sendall(answer(b'the wrong one')[:-5])
                if stream.read(1) == b'':
                    lost.set()
                return
            connection.sendall(answer())
    done = run_client(ScriptedServer(first_is_slow).port, 'count=5', 'connections=2', 'hedge=100')
    require(done.stdout == '200: 5\nfailed: 0\nconnections: 2\n' or done.stdout == '200: 5\nfailed: 0\nconnections: 3\n',
            'hedged requests', done)
    require(lost.wait(5), 'the connection of the stopped request is kept')
    done = run_client(ScriptedServer(first_is_slow).port, 'hedge=100')
    require(done.stdout == 'ok', 'a hedged request', done)

    # Requests that wait for a connection are not hedged.
    requests = []

    def takes_a_while(connection, _):
        for line in connection.makefile('rb'):
            if line == b'\r\n':
                requests.append(time.monotonic())
                time.sleep(0.04)
                connection.sendall(answer())
    done = run_client(ScriptedServer(takes_a_while).port, 'count=20', 'connections=1', 'hedge=400')
    require(done.stdout == '200: 20\nfailed: 0\nconnections: 1\n' and len(requests) == 20,
            'requests are hedged before they have a connection', done, len(requests))

    for port in ['', '0', '65536', '-1', '80x', 'http']:
        done = run_client(port)
        require((done.returncode, done.stderr) == (2, f"error: url: '{port}' is not a port\n"), 'a bad port', done)

    began = time.monotonic()
    done = run_client(ScriptedServer(lambda *_: time.sleep(patience)).port, 'count=2', 'deadline=200', 'connections=1')
    require(done.stdout == 'failed: 2\nconnections: 1\n' and 'deadline exceeded' in done.stderr, 'a mute server', done)
    require(time.monotonic() - began < 2, 'the deadline is late')

    # A server that closes each connection without saying so, or after more bytes than a response.
    def one_response(connection, number):
        connection.recv(1000)
        connection.sendall(answer() + (answer(b'nobody asked') if number % 2 else b''))
        connection.close()
    done = run_client(ScriptedServer(one_response).port, 'count=6', 'connections=1')
    require(done.stdout == '200: 6\nfailed: 0\nconnections: 6\n', 'a server that closes connections', done)

    for garbage in [b'garbage\r\n\r\n', answer()[:-1], b'HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n', b'']:
        def send_garbage(connection, _, garbage=garbage):
            connection.recv(1000)
            connection.sendall(garbage)
            connection.close()
        done = run_client(ScriptedServer(send_garbage).port)
        require((done.returncode, done.stdout) == (1, '') and '/: ' in done.stderr, 'garbage', garbage, done)
    with socket.create_server(('127.0.0.1', 0)) as closed:
        port = closed.getsockname()[1]
    done = run_client(port)
    require(done.returncode == 1 and 'Connection refused' in done.stderr, 'no server', done)


try:
    make_certificates(folder)
    (folder / 'index.html').write_text('hello')
    (folder / 'large').write_bytes(bytes(8 << 20))
    server = Server(root=folder)
    check_client(server)
    server.stop()
    tls = ssl.create_default_context(cafile=folder / 'ca.pem')
    check_413(tls)
    check_names(tls)
    check_tls_server(Server(tls, root=folder, certificate=folder / 'server.pem', key=folder / 'server.key', handshake=500,
                            header=500, write=500, linger=300), tls)
finally:
    shutil.rmtree(folder)
