#!/usr/bin/env python3
"""The examples of databases with private servers: queries, limits, a server that dies and returns, stops.

    databases.py postgres|redis PROGRAM
"""

import contextlib
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time

kind, program = sys.argv[1:]
patience = 60


def require(holds, what, *details):
    if not holds:
        sys.exit(f'databases {kind}: {what}\n' + '\n'.join(str(d) for d in details))


def find(name, *folders):
    path = shutil.which(name, path=os.pathsep.join([os.environ['PATH'], *map(str, folders)]))
    if not path:
        print(f'skipped: {name} is not installed')
        sys.exit(77)
    return path


class Server:
    """A server in a folder of its own, which only a Unix socket reaches."""

    def start(self):
        with open(self.folder / 'log', 'a') as log:
            self.process = subprocess.Popen([*self.prefix, *self.command], stdout=log, stderr=log, cwd=self.folder)
        deadline = time.monotonic() + patience
        while not self.is_ready():
            require(self.process.poll() is None and time.monotonic() < deadline, 'the server does not start',
                    (self.folder / 'log').read_text())
            time.sleep(0.02)

    def stop(self, number):
        self.process.send_signal(number)
        self.process.wait(patience)


class Postgres(Server):
    def __init__(self, folder):
        self.folder = folder / 'postgres'
        self.folder.mkdir()
        folders = sorted(pathlib.Path('/usr/lib/postgresql').glob('*/bin'))[::-1]
        initdb, postgres, self.prefix = find('initdb', *folders), find('postgres', *folders), []
        if os.geteuid() == 0:  # PostgreSQL does not run as root
            try:
                user = pwd.getpwnam('postgres')
            except KeyError:
                print('skipped: no user postgres')
                sys.exit(77)
            self.prefix = [find('setpriv'), f'--reuid={user.pw_uid}', f'--regid={user.pw_gid}', '--clear-groups', '--']
            folder.chmod(0o755)
            os.chown(self.folder, user.pw_uid, user.pw_gid)
        subprocess.run([*self.prefix, initdb, '-D', self.folder / 'data', '-A', 'trust', '-U', 'test', '-N'], check=True,
                       stdout=subprocess.DEVNULL, cwd=self.folder)
        self.command = [postgres, '-D', self.folder / 'data', '-k', self.folder, '-c', 'listen_addresses=', '-F']
        self.address = f'host={self.folder} user=test dbname=postgres'

    def is_ready(self):
        pid = self.folder / 'data/postmaster.pid'
        with contextlib.suppress(OSError):
            return 'ready' in pid.read_text() and (self.folder / '.s.PGSQL.5432').exists()
        return False

    def stop(self, number):
        super().stop(number)
        if number == signal.SIGKILL:  # its children end by themselves
            (self.folder / 'data/postmaster.pid').unlink(missing_ok=True)
            time.sleep(0.3)


class Redis(Server):
    def __init__(self, folder):
        self.folder, self.prefix, self.address = folder, [], str(folder / 'redis.sock')
        self.command = [find('redis-server'), '--port', '0', '--unixsocket', self.address, '--save', '',
                        '--appendonly', 'no', '--dir', folder]

    def is_ready(self):
        with contextlib.suppress(OSError):
            import socket
            with socket.socket(socket.AF_UNIX) as s:
                s.connect(self.address)
                s.sendall(b'PING\r\n')
                return s.recv(7) == b'+PONG\r\n'
        return False


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
    server = {'postgres': Postgres, 'redis': Redis}[kind](pathlib.Path(name))
    server.start()
    try:
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
    finally:
        if server.process.poll() is None:
            server.stop(signal.SIGKILL)
