#!/usr/bin/env python3
"""The examples of databases with private servers: queries, limits, a server that dies, is silent or restarts, stops.

    databases.py postgres|redis|sqlite PROGRAM
"""

import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from database_servers import NotInstalled, Postgres, Redis, patience

kind, program = sys.argv[1:]


def require(holds, what, *details):
    if not holds:
        sys.exit(f'databases {kind}: {what}\n' + '\n'.join(str(d) for d in details))


class Program:
    def __init__(self, address, count):
        self.process = subprocess.Popen([program, address, str(count)], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)

    def line(self):
        return self.process.stdout.readline().rstrip('\n')

    def end(self, status=0):
        output, errors = self.process.communicate(timeout=patience)
        require(self.process.returncode == status, f'exit status {self.process.returncode}', output, errors)
        return output, errors


class SilentThenGood:
    """A server that speaks Redis' protocol. Its first connection stops to reply after `replies` replies."""

    def __init__(self, path, replies):
        self.listener, self.replies, self.connections = socket.socket(socket.AF_UNIX), replies, 0
        self.values = {}
        self.listener.bind(path)
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            connection = self.listener.accept()[0]
            self.connections += 1
            threading.Thread(target=self.serve, args=[connection, self.connections == 1], daemon=True).start()

    def serve(self, connection, becomes_silent):
        with connection, connection.makefile('rwb') as file:
            while header := file.readline():
                words = [file.read(int(file.readline()[1:]) + 2)[:-2] for _ in range(int(header[1:]))]
                if becomes_silent and self.replies == 0:
                    continue
                self.replies -= 1
                if words[0] == b'SET':
                    self.values[words[1]] = words[2]
                reply = {b'SET': b'+OK\r\n', b'BLPOP': b'*-1\r\n', b'WRONG': b'-ERR unknown\r\n'}.get(words[0])
                if words[0] == b'GET':
                    reply = b'$%d\r\n%s\r\n' % (len(self.values[words[1]]), self.values[words[1]])
                if words[0] == b'BLPOP':
                    time.sleep(0.3)
                file.write(reply)
                file.flush()


if kind == 'sqlite':
    done = subprocess.run([program], capture_output=True, text=True, timeout=patience)
    found = done.returncode, done.stdout, done.stderr
    require(found == (0, 'added, then deadline exceeded, then 1 name\n', ''), 'wrong end', *found)
    sys.exit()

with tempfile.TemporaryDirectory(prefix='leat') as name:
    try:
        server = {'postgres': Postgres, 'redis': Redis}[kind](pathlib.Path(name))
    except NotInstalled as missing:
        print(f'skipped: {missing}')
        sys.exit(77)
    with server:
        # Limits and errors leave the connection usable.
        expected = {
            'postgres': ['slow query: deadline exceeded, same connection', "'select wrong': unknown error",
                         "'': invalid argument", "'copy rows to stdout': unimplemented",
                         "'select 1 where false': not found"],
            'redis': ['a 1, b 2', 'deadline exceeded, then a 1', 'wrong command: unknown error',
                      'subscribe: invalid argument'],
        }[kind]
        last = {'postgres': '{} rows\n', 'redis': 'count {}\n'}[kind]
        p = Program(server.address, 5)
        for line in expected:
            found = p.line()
            require(found == line, 'wrong output', found, line)
        output, errors = p.end()
        require((output, errors) == (last.format(5), ''), 'wrong end', output, errors)

        for count in 'x', '5x', '', '99999999999':
            _, errors = Program(server.address, count).end(2)
            require(errors.startswith('usage: '), 'no usage', errors)

        # A normal restart while the connection is idle: no row fails.
        if kind == 'postgres':
            p = Program(server.address, 60)
            for line in expected:
                require(p.line() == line, 'wrong output')
            time.sleep(0.2)
            p.process.send_signal(signal.SIGSTOP)
            time.sleep(0.1)
            server.stop(signal.SIGINT)
            server.start()
            p.process.send_signal(signal.SIGCONT)
            output, errors = p.end()
            require(output == last.format(60), 'wrong end', output, errors)
            require(not re.search('^row', errors, re.MULTILINE), 'a row fails after a restart', errors)

        # A server that becomes silent: the client closes the connection, and continues on another one.
        if kind == 'redis':
            path = f'{name}/silent.sock'
            silent = SilentThenGood(path, 20)
            output, errors = Program(path, 40).end()
            require(output == '\n'.join([*expected, last.format(40)]), 'wrong end', output, errors)
            require(silent.connections == 2, 'wrong number of connections', silent.connections)
            require('SET: ' in errors or 'deadline exceeded' in errors, 'the errors do not name what failed', errors)

        # The server dies in the middle and returns: the program names what failed, and loses nothing.
        for number in signal.SIGKILL, signal.SIGTERM if kind == 'redis' else signal.SIGINT:
            p = Program(server.address, 60)
            for line in expected:
                require(p.line() == line, 'wrong output')
            time.sleep(0.2)
            if kind == 'redis' and number == signal.SIGKILL:  # a command waits for its reply
                server.process.send_signal(signal.SIGSTOP)
                time.sleep(0.1)
            server.stop(number)
            time.sleep(0.2)
            require(p.process.poll() is None, 'the program ends with its server')
            server.start()
            output, errors = p.end()
            require(output == last.format(60), 'wrong end', output, errors)
            names = {'postgres': ['row ', 'connect: '], 'redis': [f'connect to {server.address}: ']}[kind]
            if kind == 'redis' and number == signal.SIGKILL:
                names.append('SET: ')
            require(all(name in errors for name in names), 'the errors do not name what failed', errors)

        # SIGTERM at any time: before the program handles it, during a query, during a wait.
        for delay in 0.03, 0.05, 0.1, 0.3:
            p = Program(server.address, 1000)
            time.sleep(delay)
            p.process.terminate()
            status = p.process.wait(patience)
            require(status in (-signal.SIGTERM, 128 + signal.SIGTERM), 'wrong exit status after SIGTERM', status)
            _, errors = p.end(status)
            require('Sanitizer' not in errors, 'an error of the sanitizer', errors)
        server.stop(signal.SIGKILL)
        p = Program(server.address, 5)
        output, errors = p.end(1)
        require(errors.startswith({'postgres': 'error: connect: ', 'redis': 'error: connect to '}[kind]),
                'no reason', errors)
