#!/usr/bin/env python3
"""The example gateway with real clients: replies, limits, errors, clients that leave, drain.

    gateway.py PROGRAM
"""

import signal
import socket
import subprocess
import time

from server_process import ServerProcess, patience, require, reset


class Client:
    def __init__(self, connection):
        self.socket = connection
        self.lines = self.socket.makefile('rb')

    def ask(self, request):
        self.socket.sendall(request)
        return self.lines.readline()

    def end(self):
        """Sends no more bytes, but still receives."""
        self.socket.shutdown(socket.SHUT_WR)

    def reset(self):
        self.lines.close()
        reset(self.socket)

    def close(self):
        self.lines.close()
        self.socket.close()


class Gateway(ServerProcess):
    def __init__(self, limit, drain, client_limit=60_000, descriptors=None):
        super().__init__(limit, drain, client_limit, descriptors=descriptors, stderr=subprocess.PIPE)

    def connect(self):
        return Client(super().connect())

    def terminate(self):
        """Sends SIGTERM, and waits until the gateway refuses clients."""
        super().terminate()
        require(self.refuses_clients(), 'a new client after SIGTERM')

    def end(self, status=0):
        """Requires an exit status, and returns standard error."""
        _, errors = self.process.communicate(timeout=patience)
        require(self.process.returncode == status, 'wrong exit status', self.process.returncode, errors)
        return errors


# Each request gets a reply, also after an error and after the time limit.
gateway = Gateway(500, 60_000)
client, idle = gateway.connect(), gateway.connect()
require(client.ask(b'1\n') == b'stock 1, price 1\n', 'wrong reply')
require(client.ask(b'x\n').startswith(b'error: '), 'no error')
require(client.ask(b'60000\n') == b'timeout\n', 'no time limit')
require(client.ask(b'2\n3\n') == b'stock 2, price 2\n', 'wrong reply to the first of two requests')
require(client.lines.readline() == b'stock 3, price 3\n', 'wrong reply to the second request')
gone = gateway.connect()
gone.socket.sendall(b'200\n')
gone.close()

# After SIGTERM, a connection that waits for its next request is closed immediately.
gateway.terminate()
require(client.lines.readline() == b'' and idle.lines.readline() == b'', 'not closed')
require('connection 1' not in gateway.end(), 'a connection that finished is named')

# A request in progress gets its reply.
gateway = Gateway(60_000, 60_000)
client = gateway.connect()
require(client.ask(b'1\n') == b'stock 1, price 1\n', 'wrong reply')
client.socket.sendall(b'3000\n')
time.sleep(0.5)
gateway.terminate()
require(client.lines.readline() == b'stock 3000, price 3000\n', 'a request in progress has no reply')
require(client.lines.readline() == b'', 'not closed after the reply')
require(gateway.end() == '', 'an error without a reason')

# A request that does not finish is stopped, and its connection is named.
gateway = Gateway(60_000, 500)
client, idle = gateway.connect(), gateway.connect()
require(idle.ask(b'1\n') == b'stock 1, price 1\n', 'wrong reply')
client.socket.sendall(b'60000\n')
time.sleep(0.5)
gateway.terminate()
require(client.lines.readline() == b'', 'not stopped')
require(gateway.end(1) == 'connection 1: co_spawn: cancelled\n', 'wrong report')

# Requests that have been read before SIGTERM get their replies: one in progress, the next one, and one whose
# end is still missing.
gateway = Gateway(60_000, 60_000)
client, slow = gateway.connect(), gateway.connect()
client.socket.sendall(b'2000\n5\n')
slow.socket.sendall(b'1')
time.sleep(0.5)
gateway.terminate()
require(client.lines.readline() == b'stock 2000, price 2000\n', 'no reply to the request in progress')
require(client.lines.readline() == b'stock 5, price 5\n', 'no reply to a request that was read')
require(slow.ask(b'7\n') == b'stock 17, price 17\n', 'no reply to a request that was read in part')
require(gateway.end() == '', 'an error without a reason')

# SIGTERM immediately after the port is printed: an end without an error.
for _ in range(20):
    gateway = Gateway(500, 10_000)
    gateway.process.send_signal(signal.SIGTERM)
    require(gateway.end() == '', 'an error without a reason')

# The last line may lack its newline, and a client that sends no more bytes receives all replies.
gateway = Gateway(60_000, 60_000)
client = gateway.connect()
client.socket.sendall(b'300\n1\n2')
client.end()
require(client.lines.read() == b'stock 300, price 300\nstock 1, price 1\nstock 2, price 2\n', 'replies are missing')

# A line of any length does not fill the memory.
before = gateway.memory()
client = gateway.connect()
try:
    for _ in range(64):
        client.socket.sendall(b'1' * (1 << 20))
    require(False, 'an endless line is accepted')
except (ConnectionResetError, BrokenPipeError):
    client.close()
require(gateway.memory() - before < 16 << 20, 'an endless line is stored', gateway.memory() - before)

# A client that resets its connection withdraws its request, which would otherwise delay the drain.
client = gateway.connect()
client.socket.sendall(b'60000\n')
time.sleep(0.5)
client.reset()
gateway.terminate()
errors = gateway.end()
require('connection 1: ' not in errors, 'an error without a reason', errors)
require('connection 2: the line is too long' in errors, 'no reason', errors)
require('connection 3: read: Connection reset by peer' in errors, 'no reason', errors)

# A client that does not complete its line, sends nothing, or does not read its replies is disconnected.
gateway = Gateway(500, 60_000, 500)
idle, slow, deaf = gateway.connect(), gateway.connect(), gateway.connect()
slow.socket.sendall(b'1')
require(idle.lines.readline() == b'', 'an idle client is kept')
require(slow.lines.readline() == b'', 'a client that does not complete its line is kept')
try:
    for _ in range(1000):
        deaf.socket.sendall(b'0' * 60_000 + b'1\n')
    require(False, 'a client that does not read is kept')
except (ConnectionResetError, BrokenPipeError):
    deaf.close()

# Clients cannot fill the log.
for _ in range(100):
    client = gateway.connect()
    client.socket.sendall(b'400\n')
    time.sleep(0.01)
    client.reset()
time.sleep(0.5)
gateway.terminate()
errors = gateway.end().splitlines()
require(10 < len(errors) < 60, 'wrong number of lines', len(errors), *errors[:30])

# With too few descriptors, the gateway waits until a connection ends.
gateway = Gateway(500, 60_000, descriptors=16)
clients = [gateway.connect() for _ in range(12)]
require(clients[0].ask(b'1\n') == b'stock 1, price 1\n', 'wrong reply')
time.sleep(0.5)
for client in clients[:11]:
    client.close()
require(clients[11].ask(b'1\n') == b'stock 1, price 1\n', 'the last client is not served')
gateway.terminate()
gateway.end()

# A second signal terminates the process.
gateway = Gateway(60_000, 60_000)
client = gateway.connect()
client.socket.sendall(b'60000\n')
time.sleep(0.5)
gateway.terminate()
gateway.process.send_signal(signal.SIGTERM)
gateway.end(-signal.SIGTERM)
