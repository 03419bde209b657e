#!/usr/bin/env python3
"""The example http_chat with clients that are slow, broken or hostile.

    chat.py CHAT
"""

import pathlib
import shutil
import ssl
import struct
import tempfile
import threading
import time

from http_support import Client, Server, make_certificates, require

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


class Member(Client):
    """A WebSocket client."""

    def __init__(self, server, answers_pings=True, **options):
        super().__init__(server.port, server.tls, **options)
        self.answers_pings = answers_pings
        self.pings = 0
        self.send(b'GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n'
                  b'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n')
        status, fields, _ = self.response()
        require((status, fields['sec-websocket-accept']) == (101, 's3pPLMBiTxaQ9kYGzzhZRbK+xOo='), 'no WebSocket', status, fields)

    def say(self, text, kind=TEXT, masked=True):
        data = text.encode() if isinstance(text, str) else text
        size = struct.pack('>B', len(data)) if len(data) < 126 else struct.pack('>BH', 126, len(data))
        if len(data) > 0xffff:
            size = struct.pack('>BQ', 127, len(data))
        if masked:
            size = bytes([size[0] | 0x80]) + size[1:] + bytes(4)  # a mask of zeros
        self.send(bytes([0x80 | kind]) + size + data)

    def frame(self):
        head = self.input.read(2)
        if len(head) < 2:
            return None, b''
        size = head[1]
        if size == 126:
            size, = struct.unpack('>H', self.input.read(2))
        elif size == 127:
            size, = struct.unpack('>Q', self.input.read(8))
        return head[0] & 15, self.input.read(size)

    def hear(self):
        """Returns the next message, or the code of the close frame, or None."""
        while True:
            kind, data = self.frame()
            if kind == TEXT:
                return data.decode()
            if kind == PING:
                self.pings += 1
                if self.answers_pings:
                    self.say(data, PONG)
            if kind == CLOSE:
                return struct.unpack('>H', data[:2])[0] if data else 0
            if kind is None:
                return None

    def hear_until(self, last):
        """Returns the last message, or the code of the close frame, or None."""
        while isinstance(heard := self.hear(), str) and heard != last:
            pass
        return heard

    def wait_until_there(self):
        """Waits until this member is in the room."""
        name = f'here {id(self)}'
        self.say(name)
        while self.hear() != name:
            pass


folder = pathlib.Path(tempfile.mkdtemp())
try:
    make_certificates(folder)
    tls = ssl.create_default_context(cafile=folder / 'ca.pem')
    secure = Server(tls, certificate=folder / 'server.pem', key=folder / 'server.key')
    ann, bob = Member(secure), Member(secure)
    ann.wait_until_there()
    bob.wait_until_there()
    ann.say('hello')
    require([bob.hear() for _ in range(1)] == ['hello'], 'no message over TLS')
    secure.terminate()
    require(bob.hear() == 1001, 'no close frame over TLS')
    bob.say(struct.pack('>H', 1001), CLOSE)
    ann.close()
    bob.close()
    secure.end()
finally:
    shutil.rmtree(folder)

server = Server(history=16, write=1000, ping=10_000, linger=200, message_size=8192, drain=4000)


def require_alive(after):
    one, two = Member(server), Member(server)
    one.wait_until_there()
    two.wait_until_there()
    one.say('alive?')
    require(two.hear() == 'alive?', f'no message after {after}')
    one.close()
    two.close()


require_alive('the start')

# A member that does not read, and one that reads late, delay no other member. The second one is told how many messages it has
# missed. Then both are dropped, because they do not read.
ann, bob = Member(server), Member(server)
late = Member(server, receive_buffer=4096)
deaf = Member(server, receive_buffer=4096)
for member in late, deaf, ann, bob:
    member.wait_until_there()
began = time.monotonic()
count = 1000
for i in range(count):
    ann.say(f'{i} ' + 8000 * 'x')
    while (heard := bob.hear()).split()[0] != str(i):
        require(heard.startswith('here'), 'a message is missing', i, heard[:30])
    while ann.hear().split()[0] != str(i):
        pass
    if i == 400:  # after some hundred messages that it has not read
        while not (heard := late.hear()).endswith('messages missed)'):
            pass
        require(int(heard[1:].split()[0]) > 0, 'wrong number of missed messages', heard)
require(time.monotonic() - began < 10, 'a slow member delays the others', time.monotonic() - began)
require_alive('slow members')

# Clients that are no members, and members that break the protocol.
for garbage in [b'\1\2\3\r\n\r\n', b'GET / HTTP/1.1\r\nHost: x\r\n\r\n', b'GET / HTTP/1.1\r\nX: ' + 100_000 * b'x', b'GET', b'']:
    client = server.client()
    client.send(garbage)
    if garbage.startswith(b'GET / HTTP/1.1\r\nHost'):
        require(client.response()[0] == 400, 'not 400')
    client.reset() if garbage == b'GET' else client.close()
mute = server.client()
require(mute.ends(), 'a client that sends no request is kept')
for code, kind, text, masked in [(1009, TEXT, 9000 * 'x', True), (1002, TEXT, 'x', False), (1002, 5, 'x', True),
                                 (1007, TEXT, b'\xff\xfe', True), (1003, BINARY, b'\xff\xfe', True)]:
    member = Member(server)
    member.wait_until_there()
    member.say(text, kind, masked)
    while (heard := member.hear()) and isinstance(heard, str):
        pass
    require(heard == code, f'no close frame with {code}', heard)
    member.close()
for leave in 'reset', 'close', 'end':
    member = Member(server)
    member.send(b'\x81\xfe')  # in the middle of a frame
    getattr(member, leave)()
require_alive('broken clients')

# SIGTERM: the members receive "going away".
one, two = Member(server), Member(server)
one.wait_until_there()
two.wait_until_there()
for member in ann, bob, late, deaf:
    member.close()
two.socket.settimeout(5)
server.terminate()
require(one.hear().startswith('here'), 'no message')
codes = one.hear(), two.hear()
require(codes == (1001, 1001), 'no close frame after SIGTERM', codes)
one.say(struct.pack('>H', 1001), CLOSE)
one.close()  # the other one does not answer, but its connection ends
errors = server.end()
require(errors.count('async_write: ended after') == 2, 'wrong number of dropped members', errors)

# A member that does not answer pings is dropped.
server = Server(ping=100, write=500, linger=200)
one, two = Member(server), Member(server, answers_pings=False)
heard = []
listener = threading.Thread(target=lambda: heard.append(one.hear()))
listener.start()
require(two.hear() is None, 'a member that does not answer pings receives a message')
one.say('still there')
listener.join()
require(heard == ['still there'], 'a member that answers pings was dropped', heard)
one.close()

# Pings are sent in a busy room, too, and a member that answers them stays when the room falls silent.
talker, one, mute = Member(server), Member(server), Member(server, answers_pings=False)
ended = []
threads = [threading.Thread(target=lambda m=member, n=name: ended.append((m.hear_until('end'), n)))
           for member, name in ((talker, 'talker'), (one, 'one'), (mute, 'mute'))]
for thread in threads:
    thread.start()
for i in range(30):
    talker.say(str(i))
    time.sleep(0.02)
require(ended == [(None, 'mute')], 'a silent member is not dropped in a busy room', ended)
time.sleep(0.25)
require(len(ended) == 1, 'a member is dropped when the room falls silent', ended)
talker.say('end')
for thread in threads:
    thread.join()
require(sorted(ended[1:], key=lambda e: e[1]) == [('end', 'one'), ('end', 'talker')], 'wrong last messages', ended)
require(one.pings > 3, 'no pings in a busy room', one.pings)

# A member that only talks stays, too.
talker = Member(server, answers_pings=False)
for i in range(15):
    talker.say(str(i))
    time.sleep(0.03)
require(talker.hear_until('14') == '14', 'a member that talks is dropped')
for member in one, talker:
    member.close()
server.stop()
