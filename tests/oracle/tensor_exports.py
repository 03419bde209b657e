#!/usr/bin/env python3
"""Reads exported tensors and batches from another language: DLPack and the Arrow C data interface, by
their specifications, and DLPack also with numpy, if it is installed."""

import ctypes
import struct
import sys
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int32, c_int64, c_uint8, c_uint16
from ctypes import c_uint32, c_uint64, c_void_p

try:
    import numpy
except ImportError:
    numpy = None

# ---- DLPack, as in dlpack.h


class DLTensor(Structure):
    _fields_ = [('data', c_void_p), ('device_type', c_int32), ('device_id', c_int32), ('ndim', c_int32),
                ('code', c_uint8), ('bits', c_uint8), ('lanes', c_uint16), ('shape', POINTER(c_int64)),
                ('strides', POINTER(c_int64)), ('byte_offset', c_uint64)]


class DLManagedTensor(Structure):
    _fields_ = [('dl_tensor', DLTensor), ('manager_ctx', c_void_p),
                ('deleter', CFUNCTYPE(None, c_void_p))]


class DLManagedTensorVersioned(Structure):
    _fields_ = [('major', c_uint32), ('minor', c_uint32), ('manager_ctx', c_void_p),
                ('deleter', CFUNCTYPE(None, c_void_p)), ('flags', c_uint64), ('dl_tensor', DLTensor)]


def unpack(format, address, count):
    size = struct.calcsize('=' + format)
    return [v[0] if len(v) == 1 else v
            for v in struct.iter_unpack('=' + format, ctypes.string_at(address, size * count))]


# For each exported tensor: DLPack's code and bits, the format with which Python reads a value, and
# the values for 0 to 5.
NUMBERS = list(range(6))
TENSORS = [
    (6, 8, '?', [False, True] * 3), (1, 8, 'B', NUMBERS), (0, 8, 'b', NUMBERS), (1, 16, 'H', NUMBERS),
    (0, 16, 'h', NUMBERS), (1, 32, 'I', NUMBERS), (0, 32, 'i', NUMBERS), (1, 64, 'Q', NUMBERS),
    (0, 64, 'q', NUMBERS), (2, 16, 'e', NUMBERS),
    (4, 16, 'H', [0, 0x3f80, 0x4000, 0x4040, 0x4080, 0x40a0]), (2, 32, 'f', NUMBERS),
    (2, 64, 'd', NUMBERS), (5, 64, '2f', [(i, -1) for i in NUMBERS]),
    (5, 128, '2d', [(i, -1) for i in NUMBERS])]


def check_tensor(view, code, bits, format, expected):
    assert (view.code, view.bits, view.lanes) == (code, bits, 1), (view.code, view.bits, view.lanes)
    assert (view.device_type, view.device_id, view.byte_offset) == (1, 0, 0)
    assert view.shape[:view.ndim] == [2, 3] and view.strides[:view.ndim] == [3, 1]
    assert view.data % 64 == 0
    values = unpack(format, view.data, 6)
    assert values == expected, (code, bits, values)


def check_dlpack(lib):
    assert lib.leat_tensor_count() == len(TENSORS)
    for i, tensor in enumerate(TENSORS):
        address = lib.leat_tensor_dlpack(i)
        managed = DLManagedTensor.from_address(address)
        check_tensor(managed.dl_tensor, *tensor)
        assert lib.leat_tensor_is_shared(i)
        managed.deleter(address)
        assert not lib.leat_tensor_is_shared(i)

        address = lib.leat_tensor_dlpack_versioned(i)
        managed = DLManagedTensorVersioned.from_address(address)
        assert (managed.major, managed.minor, managed.flags) == (1, 1, 1)  # read-only: it is shared
        check_tensor(managed.dl_tensor, *tensor)
        managed.deleter(address)
        assert not lib.leat_tensor_is_shared(i)
        assert lib.leat_tensor_is(lib.leat_tensor_dlpack(i), i)


class Exporter:
    """An argument of numpy.from_dlpack()."""

    def __init__(self, lib, index):
        self.lib, self.index = lib, index

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, *, max_version=None, **_):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [c_void_p, c_char_p, c_void_p]
        if max_version and max_version[0] >= 1:
            return new(self.lib.leat_tensor_dlpack_versioned(self.index), b'dltensor_versioned', None)
        return new(self.lib.leat_tensor_dlpack(self.index), b'dltensor', None)


def check_numpy(lib):
    names = ['bool', 'uint8', 'int8', 'uint16', 'int16', 'uint32', 'int32', 'uint64', 'int64', 'float16',
             None, 'float32', 'float64', 'complex64', 'complex128']
    has_bool = tuple(map(int, numpy.__version__.split('.')[:2])) >= (1, 25)
    for i, name in enumerate(names):
        if name is None or name == 'bool' and not has_bool:
            continue  # numpy lacks bfloat16, and old versions refuse booleans
        array = numpy.from_dlpack(Exporter(lib, i))
        assert array.dtype == name and array.shape == (2, 3), (array.dtype, name)
        expected = numpy.arange(6).reshape(2, 3)
        expected = expected % 2 == 1 if name == 'bool' else expected
        expected = expected - 1j if name.startswith('complex') else expected
        assert (array == expected).all(), array
        assert not array.flags.writeable
        assert lib.leat_tensor_is_shared(i)
        del array
        assert not lib.leat_tensor_is_shared(i)
    return f', numpy {numpy.__version__}'


# ---- Arrow, as in the specification of the C data interface


class ArrowSchema(Structure):
    pass


class ArrowArray(Structure):
    pass


ArrowSchema._fields_ = [('format', c_char_p), ('name', c_char_p), ('metadata', c_void_p),
                        ('flags', c_int64), ('n_children', c_int64),
                        ('children', POINTER(POINTER(ArrowSchema))),
                        ('dictionary', POINTER(ArrowSchema)),
                        ('release', CFUNCTYPE(None, POINTER(ArrowSchema))), ('private_data', c_void_p)]
ArrowArray._fields_ = [('length', c_int64), ('null_count', c_int64), ('offset', c_int64),
                       ('n_buffers', c_int64), ('n_children', c_int64), ('buffers', POINTER(c_void_p)),
                       ('children', POINTER(POINTER(ArrowArray))), ('dictionary', POINTER(ArrowArray)),
                       ('release', CFUNCTYPE(None, POINTER(ArrowArray))), ('private_data', c_void_p)]

PRIMITIVE = {'c': 'b', 'C': 'B', 's': 'h', 'S': 'H', 'i': 'i', 'I': 'I', 'l': 'q', 'L': 'Q', 'e': 'e',
             'f': 'f', 'g': 'd'}


def children_of(schema, array):
    assert schema.n_children == array.n_children
    for i in range(schema.n_children):
        yield schema.children[i].contents, array.children[i].contents


def read(schema, array):
    """Returns the values of an array as Python objects."""
    format, n = schema.format.decode(), array.length
    assert array.null_count == 0 and array.offset == 0 and not array.dictionary
    assert not array.buffers[0]  # no validity bitmap
    children = [(s.name.decode(), read(s, a)) for s, a in children_of(schema, array)]
    buffers = {'b': 2, 'Z': 3, '+s': 1, '+L': 2}.get(format, 1 if format.startswith('+w') else 2)
    assert array.n_buffers == buffers, (format, array.n_buffers)
    if format in PRIMITIVE:
        return unpack(PRIMITIVE[format], array.buffers[1], n)
    if format == 'b':
        bits = ctypes.string_at(array.buffers[1], (n + 7) // 8)
        return [bool(bits[i // 8] >> i % 8 & 1) for i in range(n)]
    if format == 'Z':
        offsets = unpack('q', array.buffers[1], n + 1)
        return [ctypes.string_at(array.buffers[2] + a, b - a) for a, b in zip(offsets, offsets[1:])]
    if format.startswith('+w:'):
        size, ((name, items),) = int(format[3:]), children
        assert name == 'item' and len(items) == n * size
        return [items[i * size:(i + 1) * size] for i in range(n)]
    if format == '+L':
        (_, items), = children
        offsets = unpack('q', array.buffers[1], n + 1)
        assert offsets[-1] == len(items)
        return [items[a:b] for a, b in zip(offsets, offsets[1:])]
    assert format == '+s', format
    assert all(len(values) == n for _, values in children)
    return [{name: values[i] for name, values in children} for i in range(n)]


def metadata(address):
    count, = unpack('i', address, 1)
    found = {}
    address += 4
    for _ in range(count):
        texts = []
        for _ in range(2):
            size, = unpack('i', address, 1)
            texts.append(ctypes.string_at(address + 4, size).decode())
            address += 4 + size
        found[texts[0]] = texts[1]
    return found


def expected_row(i):
    weights = [{'index': [i, 10 * i + k], 'value': k + 0.5} for k in range(i % 3)]
    return {'flag': i % 4 == 0, 'grid': [[i / 2] * 3] * 2, 'id': i, 'text': b'x' * i,
            'weights': weights, 'z': [i, 0.25]}


def check_arrow(lib):
    schema, array = ArrowSchema(), ArrowArray()
    lib.leat_batch_arrow(ctypes.byref(schema), ctypes.byref(array))
    rows = read(schema, array)
    assert rows == [expected_row(i) for i in range(10)], rows
    assert metadata(schema.children[4].contents.metadata) == {'leat.dense_shape': '[10,100]'}
    assert lib.leat_batch_is_shared() > 0

    # A moved column outlives its batch: the consumer copies its structure and marks the original as
    # released.
    place = array.children[2].contents
    ids = ArrowArray.from_buffer_copy(place)
    ctypes.memset(ctypes.addressof(place) + ArrowArray.release.offset, 0, ctypes.sizeof(c_void_p))
    id_schema = ArrowSchema.from_buffer_copy(schema.children[2].contents)
    array.release(ctypes.byref(array))
    assert not array.release
    assert lib.leat_batch_is_shared() == 1
    assert read(id_schema, ids) == list(range(10))
    ids.release(ctypes.byref(ids))
    assert lib.leat_batch_is_shared() == 0
    schema.release(ctypes.byref(schema))
    assert not schema.release


def main():
    lib = ctypes.CDLL(sys.argv[1])
    lib.leat_tensor_dlpack.restype = lib.leat_tensor_dlpack_versioned.restype = c_void_p
    lib.leat_tensor_is.argtypes = [c_void_p, ctypes.c_int]
    check_dlpack(lib)
    with_numpy = check_numpy(lib) if numpy else ', no numpy'
    check_arrow(lib)
    print(f'{len(TENSORS)} tensors, a batch{with_numpy}')


if __name__ == '__main__':
    main()
