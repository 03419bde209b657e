"""Private servers of PostgreSQL and Redis for tests."""

import contextlib
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import time

patience = 60  # seconds


class NotInstalled(Exception):
    """Its text says what is missing."""


def find(name, *folders):
    path = shutil.which(name, path=os.pathsep.join([os.environ['PATH'], *map(str, folders)]))
    if not path:
        raise NotInstalled(f'{name} is not installed')
    return path


class Server:
    """A server in a folder of its own, which only a Unix socket reaches. It runs in a `with` block."""

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop(signal.SIGKILL)

    def start(self):
        with open(self.folder / 'log', 'a') as log:
            self.process = subprocess.Popen([*self.prefix, *self.command], stdout=log, stderr=log, cwd=self.folder)
        deadline = time.monotonic() + patience
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError('the server does not start\n' + (self.folder / 'log').read_text())
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
                raise NotInstalled('no user postgres') from None
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
            with socket.socket(socket.AF_UNIX) as s:
                s.connect(self.address)
                s.sendall(b'PING\r\n')
                return s.recv(7) == b'+PONG\r\n'
        return False
