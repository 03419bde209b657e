#!/usr/bin/env python3
"""The examples of databases with private servers: queries, limits, a server that dies and returns, stops.

    databases.py postgres|redis PROGRAM
"""

import pathlib
import signal
import subprocess
import sys
import tempfile
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


with tempfile.TemporaryDirectory(prefix='leat') as name:
    try:
        server = {'postgres': Postgres, 'redis': Redis}[kind](pathlib.Path(name))
    except NotInstalled as missing:
        print(f'skipped: {missing}')
        sys.exit(77)
    with server:
        # Limits and errors leave the connection usable.
        expected = {
            'postgres': ['slow query: deadline exceeded, same connection', 'wrong query: unknown error'],
            'redis': ['a 1, b 2', 'deadline exceeded, then a 1', 'wrong command: unknown error'],
        }[kind]
        last = {'postgres': '{} rows\n', 'redis': 'count {}\n'}[kind]
        p = Program(server.address, 5)
        for line in expected:
            found = p.line()
            require(found == line, 'wrong output', found, line)
        output, errors = p.end()
        require((output, errors) == (last.format(5), ''), 'wrong end', output, errors)

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
