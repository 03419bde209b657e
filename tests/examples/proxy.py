#!/usr/bin/env python3
"""The example proxy between real clients and servers: half-close, idle limit, errors, drain.

    proxy.py PROGRAM
"""

import signal
import socket
import subprocess
import threading
import time

from server_process import ServerProcess, patience, require, reset


class Target:
    """A server that calls `serve` with each connection, on a thread of its own."""

    def __init__(self, serve):
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port = self.listener.getsockname()[1]
        self.serve = serve
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=[connection], daemon=True).start()


class Proxy(ServerProcess):
    def __init__(self, port, idle, drain, descriptors=None):
        super().__init__(f'127.0.0.1:{port}', idle, drain, descriptors=descriptors, stderr=subprocess.PIPE)

    def end(self, status, *lines):
        """Requires an exit status, and that standard error has these lines."""
        _, errors = self.process.communicate(timeout=patience)
        require(self.process.returncode == status, 'wrong exit status', self.process.returncode, errors)
        for line in lines:
            require(line in errors, f'standard error lacks "{line}"', errors)
        return errors


def read_all(connection):
    data = b''
    while piece := connection.recv(1 << 16):
        data += piece
    return data


def answer_at_end(connection):
    """Answers when the client has sent its last byte."""
    with connection:
        connection.sendall(read_all(connection)[::-1])


def echo(connection):
    with connection:
        while piece := connection.recv(1 << 16):
            connection.sendall(piece)


def exchange(client, data):
    client.sendall(data)
    return client.recv(len(data), socket.MSG_WAITALL)


# The end of one direction is forwarded, and the other direction continues.
proxy = Proxy(Target(answer_at_end).port, 60, 10)
data = bytes(range(256)) * 4096
with proxy.connect() as client:
    threading.Thread(target=lambda: (client.sendall(data), client.shutdown(socket.SHUT_WR))).start()
    require(read_all(client) == data[::-1], 'a half-closed connection gets a wrong answer')

# A client that resets its connection ends only this connection. No signal: no end.
with proxy.connect() as client:
    client.sendall(b'x')
    time.sleep(0.1)
    reset(client)
with proxy.connect() as client:
    client.sendall(b'ab')
    client.shutdown(socket.SHUT_WR)
    require(read_all(client) == b'ba', 'a reset ended more than its connection')
proxy.terminate()
errors = proxy.end(0, 'connection 2: ')
require('connection 1: ' not in errors and 'connection 3: ' not in errors, 'more errors', errors)

# A target that refuses connections ends the connection, and the proxy continues.
unused = socket.create_server(('127.0.0.1', 0))
refused = unused.getsockname()[1]
unused.close()
proxy = Proxy(refused, 60, 10)
for _ in range(2):
    with proxy.connect() as client:
        require(read_all(client) == b'', 'an answer without a target')
proxy.terminate()
proxy.end(0, 'connection 1: ', 'connection 2: ', 'Connection refused')


# A connection is idle if no direction transfers bytes. One direction is enough.
def drip(connection):
    with connection:
        for _ in range(8):
            connection.sendall(b'.')
            time.sleep(0.4)


proxy = Proxy(Target(drip).port, 2, 10)
with proxy.connect() as client:
    require(read_all(client) == b'.' * 8, 'a connection with one active direction is cut off')
    client.shutdown(socket.SHUT_WR)
proxy.terminate()
require(proxy.end(0) == '', 'an error without a reason')
proxy = Proxy(Target(echo).port, 1, 10)
with proxy.connect() as client:
    begun = time.monotonic()
    require(exchange(client, b'hello') == b'hello', 'no echo')
    require(client.recv(1) == b'' and time.monotonic() - begun > 0.9, 'not closed when idle')
proxy.terminate()
proxy.end(0, 'connection 1: read: deadline exceeded')

# With too few descriptors, the proxy waits until a connection ends.
proxy = Proxy(Target(echo).port, 60, 10, descriptors=16)
clients = [proxy.connect() for _ in range(10)]
require(exchange(clients[0], b'first') == b'first', 'no echo')
time.sleep(1)  # several attempts to accept
for client in clients[:9]:
    client.close()
require(exchange(clients[9], b'last') == b'last', 'the last client is not served')
clients[9].close()
proxy.terminate()
proxy.end(0, 'Too many open files')

# After SIGTERM, no client is accepted, and an open connection finishes.
proxy = Proxy(Target(echo).port, 60, 60)
with proxy.connect() as client:
    require(exchange(client, b'before') == b'before', 'no echo')
    proxy.terminate()
    require(proxy.refuses_clients(), 'a new client after SIGTERM')
    require(exchange(client, b'after') == b'after', 'no echo after SIGTERM')
    client.shutdown(socket.SHUT_WR)
    require(client.recv(1) == b'', 'no end')
require(proxy.end(0) == '', 'an error without a reason')

# A connection that does not finish is stopped and named.
proxy = Proxy(Target(echo).port, 60, 1)
with proxy.connect() as first, proxy.connect() as second:
    for client in (first, second):
        require(exchange(client, b'hello') == b'hello', 'no echo')
    proxy.terminate()
    second.shutdown(socket.SHUT_WR)
    require(second.recv(1) == b'', 'no end')
    require(first.recv(1) == b'', 'not stopped')
errors = proxy.end(1, 'connection 1: read: cancelled')
require('connection 2: ' not in errors, 'a connection that finished is named', errors)

# SIGTERM immediately after the port is printed: an end without an error.
for _ in range(20):
    proxy = Proxy(refused, 60, 10)
    proxy.terminate()
    require(proxy.end(0) == '', 'an error without a reason')

# Clients cannot fill the log.
proxy = Proxy(refused, 60, 10)
for _ in range(100):
    with proxy.connect() as client:
        require(read_all(client) == b'', 'an answer without a target')
proxy.terminate()
lines = proxy.end(0).splitlines()
require(10 < len(lines) < 60, 'wrong number of lines', len(lines), *lines[:30])

# A second signal terminates the process.
proxy = Proxy(Target(echo).port, 60, 60)
with proxy.connect() as client:
    require(exchange(client, b'hello') == b'hello', 'no echo')
    proxy.terminate()
    require(proxy.refuses_clients(), 'a new client after SIGTERM')
    proxy.terminate()
    proxy.end(-signal.SIGTERM)
