"""TFRecord files made and read in Python, apart from the library."""

import functools
import struct

crc_table = []
for value in range(256):
    for _ in range(8):
        value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    crc_table.append(value)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc_table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


@functools.lru_cache
def masked_crc(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def framed(record):
    head = struct.pack('<Q', len(record))
    return head + struct.pack('<I', masked_crc(head)) + record + \
        struct.pack('<I', masked_crc(record))


def unframed(plain):
    """The records of a file; what is wrong in it fails."""
    records = []
    while plain:
        size, crc = struct.unpack_from('<QI', plain)
        assert crc == masked_crc(plain[:8])
        record = plain[12:12 + size]
        assert struct.unpack_from('<I', plain, 12 + size)[0] == masked_crc(record)
        records.append(record)
        plain = plain[16 + size:]
    return records
