"""What the tests of examples/http share: raw clients and certificates."""

import contextlib
import pathlib
import socket
import ssl
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / 'examples'))

from server_process import ServerProcess, patience, require, reset  # noqa: E402, F401


class Client:
    """A connection that sends any bytes and reads responses."""

    def __init__(self, port, tls=None, receive_buffer=None):
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(patience)
        self.socket.connect(('127.0.0.1', port))
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_hostname='localhost')
        self.input = self.socket.makefile('rb')

    def send(self, data):
        self.socket.sendall(data)

    def end(self):
        """Sends no more bytes, but still receives."""
        self.socket.shutdown(socket.SHUT_WR)

    def response(self, with_body=True):
        """Returns the status, the header fields and the body of the next response."""
        line = self.input.readline()
        if not line:
            return None
        fields = {}
        while (field := self.input.readline().strip()):
            name, _, value = field.decode().partition(':')
            fields[name.lower()] = value.strip()
        body = self.input.read(int(fields.get('content-length', 0))) if with_body else b''
        return int(line.split()[1]), fields, body

    def get(self, target='/', **fields):
        lines = [f'GET {target} HTTP/1.1', 'Host: localhost', *(f'{name}: {value}' for name, value in fields.items())]
        self.send('\r\n'.join([*lines, '', '']).encode())
        return self.response()

    def ends(self):
        """Waits until the server closes the connection, and returns whether it has sent no more bytes."""
        with contextlib.suppress(ConnectionResetError, ssl.SSLError):
            return self.input.read() == b''
        return True

    def reset(self):
        self.input.close()
        reset(self.socket)

    def close(self):
        self.input.close()
        self.socket.close()


class Server(ServerProcess):
    def __init__(self, tls=None, **options):
        self.tls = tls
        self.errors = None
        limits = {name: options.pop(name) for name in ['descriptors', 'cwd'] if name in options}
        super().__init__(*(f'{name}={value}' for name, value in options.items()), stderr=subprocess.PIPE, **limits)

    def client(self, **options):
        return Client(self.port, self.tls, **options)

    def require_alive(self, after):
        client = self.client()
        answer = client.get('/metrics')
        require(answer and answer[0] == 200, f'no answer after {after}', answer)
        client.close()

    def connections(self):
        """Returns the number of open connections without that of this request."""
        client = self.client()
        text = client.get('/metrics')[2].decode()
        client.close()
        return int(text.split('\nhttp_connections ')[1].split()[0]) - 1

    def require_connections_end(self, after):
        deadline = time.monotonic() + 10
        while (count := self.connections()) > 0:
            require(time.monotonic() < deadline, f'connections are left after {after}', count)
            time.sleep(0.02)

    def end(self, status=0):
        """Requires an exit status, and returns standard error."""
        _, errors = self.process.communicate(timeout=patience)
        require(self.process.returncode == status, 'wrong exit status', self.process.returncode, errors)
        return errors

    def stop(self, status=0):
        self.terminate()
        return self.end(status)


def make_certificates(folder):
    """Makes an authority, ca.pem, and a certificate of localhost that it has signed: server.pem, server.key."""
    def openssl(*arguments):
        subprocess.run(['openssl', *arguments], cwd=folder, check=True, capture_output=True)
    key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
    openssl('req', '-x509', *key, '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=test authority', '-days', '2')
    openssl('req', *key, '-keyout', 'server.key', '-out', 'server.csr', '-subj', '/CN=localhost')
    (folder / 'names').write_text('subjectAltName=DNS:localhost\n')
    openssl('x509', '-req', '-in', 'server.csr', '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial',
            '-out', 'server.pem', '-days', '2', '-extfile', 'names')
