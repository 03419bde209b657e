#!/usr/bin/env python3
"""The example batch_server with real clients: every record is delivered to one of them.

    batch_server.py PROGRAM
"""

import collections
import re
import socket
import threading

from server_process import ServerProcess, patience, require


class Server(ServerProcess):
    def end(self):
        """The exit status, and how many numbers were made and delivered."""
        out, _ = self.process.communicate(timeout=patience)
        counts = re.search(r'(\d+) made, (\d+) delivered', out)
        require(counts, 'says nothing at its end', out)
        return self.process.returncode, int(counts[1]), int(counts[2])


class Client(threading.Thread):
    """Takes batches and acknowledges them; leaves in the midst of the batch after `most`."""

    def __init__(self, server, most=None, when_many=None):
        super().__init__()
        self.socket = server.connect()
        self.most, self.when_many = most, when_many
        self.numbers = []
        self.start()

    def run(self):
        batches = 0
        with self.socket, self.socket.makefile('r') as lines:
            for line in lines:
                if batches == self.most:
                    return
                batches += 1
                self.numbers += map(int, line.split())
                if self.when_many and len(self.numbers) > 500:
                    self.when_many.set()
                self.socket.sendall(b'ok\n')


def holds_a_batch(server, says=b''):
    """A client that has got a batch and does not read it."""
    client = server.connect()
    require(client.recv(1, socket.MSG_PEEK), 'a client gets no batch')
    client.sendall(says)
    return client


def require_once(clients, count):
    for client in clients:
        client.join(patience)
        require(not client.is_alive(), 'a client is never let go')
    seen = collections.Counter(n for client in clients for n in client.numbers)
    require(seen == collections.Counter(range(count)), 'not every number once',
            sorted(seen.items())[:20], sum(seen.values()), count)


# One client does not read, one answers nonsense, and one leaves with a batch: the other clients
# still receive every record.
server = Server('2000')
deaf, mad = holds_a_batch(server), holds_a_batch(server, b'what is this?\n')
clients = [Client(server), Client(server), Client(server), Client(server, most=5)]
require_once(clients, 2000)
require(server.end() == (0, 2000, 2000), 'an end without a signal')
require(len(clients[3].numbers) <= 40, 'a client got more than it asked for')
deaf.close()
mad.close()

# After SIGTERM, no new client is accepted, and the records in the pipeline are delivered.
server = Server()
many = threading.Event()
deaf = holds_a_batch(server)
clients = [Client(server, when_many=many) for _ in range(3)]
require(many.wait(patience), 'the clients get nothing')
server.terminate()
require(server.refuses_clients(), 'a new client after SIGTERM')
status, made, delivered = server.end()
require(status == 0 and made == delivered > 500, 'not drained', status, made, delivered)
require_once(clients, made)
deaf.close()

# If no client takes a batch, the generator waits and the exit status reports undelivered records.
server = Server()
deaf = [holds_a_batch(server) for _ in range(3)]
for client in deaf:
    client.recv(1 << 16)
    require(client.recv(1) == b'', 'a client that does not answer is kept')
server.terminate()
status, made, delivered = server.end()
require(status == 1 and delivered == 0, 'undelivered numbers are not told', status, delivered)
require(made <= 8 * (4 + 3 + 1), 'the generator did not wait', made)

# No client has ever connected.
server = Server('100')
server.terminate()
require(server.end()[0] == 1, 'undelivered numbers are not told')
