#!/usr/bin/env python3
"""The example gateway with real clients: replies, time limit, errors, drain.

    gateway.py PROGRAM
"""

import signal
import subprocess
import time

from server_process import ServerProcess, patience, require


class Client:
    def __init__(self, connection):
        self.socket = connection
        self.lines = self.socket.makefile('rb')

    def ask(self, request):
        self.socket.sendall(request)
        return self.lines.readline()

    def close(self):
        self.lines.close()
        self.socket.close()


class Gateway(ServerProcess):
    def __init__(self, limit, drain, descriptors=None):
        super().__init__(limit, drain, descriptors=descriptors, stderr=subprocess.PIPE)

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
require(gateway.end() == 'connection 1: co_spawn: cancelled\n', 'wrong report')

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
