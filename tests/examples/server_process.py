"""What the tests of the servers in examples/servers share. The first argument of a test is the server's program."""

import pathlib
import resource
import signal
import socket
import struct
import subprocess
import sys
import time

program = sys.argv[1]
patience = 60


def require(holds, what, *details):
    if not holds:
        sys.exit(f'{pathlib.Path(sys.argv[0]).stem}: {what}\n' + '\n'.join(str(d) for d in details))


class ServerProcess:
    """A running server, which prints its port first."""

    def __init__(self, *arguments, descriptors=None, **options):
        def limit():
            if descriptors:
                resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))
        self.process = subprocess.Popen([program, *map(str, arguments)], preexec_fn=limit,
                                        stdout=subprocess.PIPE, text=True, **options)
        self.port = int(self.process.stdout.readline().split()[1])

    def connect(self):
        return socket.create_connection(('127.0.0.1', self.port), timeout=patience)

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def memory(self):
        """Returns the largest amount of memory that the server has used, in bytes."""
        status = pathlib.Path(f'/proc/{self.process.pid}/status').read_text()
        return 1024 * int(status.split('VmHWM:')[1].split()[0])

    def refuses_clients(self):
        """Waits until the server refuses clients; those that wait to be accepted are reset."""
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            try:
                self.connect().close()
            except (ConnectionRefusedError, ConnectionResetError):
                return True
        return False


def reset(connection):
    """Closes a connection so that the server's operations on it fail."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    connection.close()
