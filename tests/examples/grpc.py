#!/usr/bin/env python3
"""The example gRPC server and client: replies, errors, deadlines, cancellation, drain, a server that dies.

    grpc.py SERVER CLIENT
"""

import signal
import subprocess
import sys
import threading
import time

from server_process import ServerProcess, patience, require

client_program = sys.argv[2]


class Server(ServerProcess):
    def __init__(self, drain=60_000, port=0, calls=1000, limit=600_000):
        super().__init__(drain, port, calls, limit, stderr=subprocess.PIPE)
        self.errors = []
        self.reader = threading.Thread(target=lambda: self.errors.extend(self.process.stderr), daemon=True)
        self.reader.start()

    def wait_for_line(self, line):
        """Waits until the server has printed a line, and returns it."""
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            for found in self.errors:
                if line in found:
                    return found
            time.sleep(0.01)
        require(False, f'the server does not print "{line}"', *self.errors)

    def end(self, status=0):
        self.process.wait(patience)
        self.reader.join()
        require(self.process.returncode == status, 'wrong exit status of the server', self.process.returncode,
                *self.errors)
        return ''.join(self.errors)


class Client:
    def __init__(self, server, limit, *command):
        self.process = subprocess.Popen([client_program, str(server.port), str(limit), *map(str, command)],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def line(self):
        return self.process.stdout.readline()

    def end(self, status=0):
        output, errors = self.process.communicate(timeout=patience)
        require(self.process.returncode == status, 'wrong exit status of the client', self.process.returncode,
                output, errors)
        return output, errors


def numbers(n):
    return ''.join(f'{i}\n' for i in range(n))


# Replies, an error, a stream.
server = Server()
require(Client(server, 60_000, 'add', 1, 1, 2, 3).end() == ('sum 6\n', ''), 'wrong sum')
_, errors = Client(server, 60_000, 'add', 0).end(1)
require(errors == 'error: Add: no numbers: invalid argument\n', 'wrong error', errors)
require(Client(server, 60_000, 'count', 1000, 0).end() == (numbers(1000), ''), 'wrong stream')
require(server.errors == [], 'errors of the server', server.errors)

# Requests and arguments that are not valid.
for request, reason in ((('add', 60_001, 1), 'delay_ms is above 60000'),
                        (('count', 1, 60_001), 'delay_ms is above 60000'),
                        (('add', 0, 2**63 - 1, 1), 'the sum is out of range')):
    _, errors = Client(server, 60_000, *request).end(1)
    require(errors == f'error: {request[0].title()}: {reason}: invalid argument\n', 'wrong error', errors)
require(server.errors == [], 'errors of the server', server.errors)
for limit, delay in ('1x', 1), ('', 1), (-1, 1), (60_000, 'x'), (60_000, 2**32), (60_000, 2**64):
    _, errors = Client(server, limit, 'add', delay, 1).end(1)
    require('is not a number from 0 to' in errors, 'wrong error', limit, delay, errors)
for arguments in ('x',), (0, 65_536), (0, 0, -1):
    failed = subprocess.run([sys.argv[1], *map(str, arguments)], capture_output=True, text=True, timeout=patience)
    require(failed.returncode == 1 and 'is not a number from 0 to' in failed.stderr, 'wrong error', failed)

# The deadline of the client's task ends the call on both sides.
for command in ('add', 60_000, 1), ('count', 1, 60_000):
    started = time.monotonic()
    _, errors = Client(server, 300, *command).end(1)
    require('deadline exceeded' in errors and 'limit of 300 ms at client.cpp' in errors or
            'Deadline Exceeded' in errors, 'wrong error', errors)
    require(time.monotonic() - started < 30, 'the deadline has no effect')
server.wait_for_line('Add: stopped after 0')
server.wait_for_line('Count: stopped after 0')

# A client that cancels its stream, one that is stopped, and one that is killed.
server.errors.clear()
require(Client(server, 60_000, 'first', 3, 10).end() == (numbers(3), ''), 'wrong first numbers')
server.wait_for_line('Count: stopped after')
for number, status in (signal.SIGTERM, 143), (signal.SIGKILL, -9):
    server.errors.clear()
    client = Client(server, 60_000, 'count', 100_000, 10)
    require(client.line() == '0\n', 'no stream')
    client.process.send_signal(number)
    client.end(status)
    server.wait_for_line('Count: stopped after')

# A slow client slows down the server, and loses nothing.
server.errors.clear()
client = Client(server, 60_000, 'slow', 100_000)
time.sleep(1)
client.process.kill()
client.end(-9)
sent = int(server.wait_for_line('Count: stopped after').split()[3])
require(0 < sent < 500, 'the server does not wait for a slow client', sent)
require(Client(server, 60_000, 'slow', 50).end() == ('50 messages\n', ''), 'wrong messages')
server.errors.clear()

# A limit of open calls, and one of their time. The client does not receive the text of the server's error.
busy = Server(calls=2, limit=60_000)
open_calls = [Client(busy, 60_000, 'add', 60_000, 1), Client(busy, 60_000, 'count', 1000, 10)]
require(open_calls[1].line() == '0\n', 'no stream')
time.sleep(0.3)
for command in ('add', 0, 1), ('first', 1, 0):
    _, errors = Client(busy, 60_000, *command).end(1)
    require(errors.endswith(': too many calls: resource exhausted\n'), 'wrong error', errors)
for client in open_calls:
    client.process.kill()
    client.end(-9)
busy.wait_for_line('Add: stopped after')
busy.wait_for_line('Count: stopped after')
for _ in range(20):
    require(Client(busy, 60_000, 'add', 0, 1).end() == ('sum 1\n', ''), 'a permit is lost')
busy.terminate()
busy.end()
short = Server(limit=100)
for command, name in (('add', 60_000, 1), 'Add'), (('count', 1000, 60_000), 'Count'):
    _, errors = Client(short, 60_000, *command).end(1)
    require(errors == f'error: {name}: took too long: deadline exceeded\n', 'wrong error', errors)
    require('limit of 100 ms' in short.wait_for_line(f'{name}: task that waits'), 'no log', *short.errors)
require(Client(short, 60_000, 'add', 0, 1).end() == ('sum 1\n', ''), 'wrong sum')
short.terminate()
short.end()

# Drain: calls in flight finish.
unary, stream = Client(server, 60_000, 'add', 1000, 1, 2), Client(server, 60_000, 'count', 20, 50)
require(stream.line() == '0\n', 'no stream')
time.sleep(0.3)
server.terminate()
require(unary.end() == ('sum 3\n', ''), 'a call in flight has no reply')
require('0\n' + stream.end()[0] == numbers(20), 'a stream in flight is not finished')
require(server.end() == '', 'errors of the server')

# Drain that runs out of time: the calls end with a clear status, also for a client that does not read.
server = Server(300)
unary, stream = Client(server, 60_000, 'add', 60_000, 1), Client(server, 60_000, 'count', 2, 60_000)
deaf = Client(server, 60_000, 'slow', 100_000)
require(stream.line() == '0\n', 'no stream')
time.sleep(0.3)
deaf.process.send_signal(signal.SIGSTOP)
time.sleep(0.3)
server.terminate()
_, errors = unary.end(1)
require(errors == 'error: Add: the server is shutting down: unavailable\n', 'wrong status', errors)
server.end(1)
line = stream.process.stderr.readline()
require(line == 'Count: the server is shutting down: unavailable\n', 'wrong status', line)
stream.process.kill()
stream.end(-9)
deaf.process.send_signal(signal.SIGCONT)  # the stop has interrupted write()
_, errors = deaf.end(1)
require(errors.startswith('error: Count: ') and errors.endswith((': cancelled\n', ': unavailable\n')), 'wrong status', errors)

# The server dies in the middle of a stream and of a call: clear errors, and the stream continues with a new server.
server = Server()
stream, unary = Client(server, 60_000, 'count', 100, 10), Client(server, 60_000, 'add', 60_000, 1)
require(stream.line() == '0\n', 'no stream')
time.sleep(0.3)
server.process.kill()
_, errors = unary.end(1)
require(errors.startswith('error: Add: ') and errors.endswith(': unavailable\n'), 'wrong error', errors)
time.sleep(0.3)
server.end(-9)
server = Server(port=server.port)
output, errors = stream.end()
require('0\n' + output == numbers(100), 'numbers are lost', output, errors)
require(errors.startswith('Count: '), 'no reason', errors)

# A second signal terminates the process.
client = Client(server, 60_000, 'add', 60_000, 1)
time.sleep(0.3)
server.terminate()
time.sleep(0.3)
server.terminate()
server.end(-signal.SIGTERM)
client.end(1)

# A signal immediately after the port is printed: an end without an error.
for _ in range(5):
    server = Server()
    server.terminate()
    require(server.end() == '', 'an error without a reason')
