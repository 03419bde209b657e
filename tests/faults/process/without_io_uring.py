#!/usr/bin/env python3
"""Runs a program and its children as in a container that refuses io_uring.

    without_io_uring.py [enter:]EPERM|ENOSYS PROGRAM [ARGUMENTS]

enter: the program can create a ring, but not use it. Ends with 77 if the kernel refuses the filter.
LEAT_IO is removed, so the program has to detect the refusal.
"""

import ctypes
import errno
import os
import struct
import sys

IO_URING = {'': 425, 'enter': 426}  # on every architecture
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2
LOAD_NUMBER, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ANSWER_ERROR, ALLOW = 0x00050000, 0x7FFF0000

which, _, name = sys.argv[1].rpartition(':') if len(sys.argv) > 2 else ('', '', '')
if which not in IO_URING or name not in ('EPERM', 'ENOSYS'):
    sys.exit(__doc__)
error = getattr(errno, name)
steps = b''.join(struct.pack('HBBI', *step) for step in (
    (LOAD_NUMBER, 0, 0, 0),
    (JUMP_IF_EQUAL, 0, 1, IO_URING[which]),
    (RETURN, 0, 0, ANSWER_ERROR | error),
    (RETURN, 0, 0, ALLOW),
))


class Program(ctypes.Structure):
    _fields_ = [('length', ctypes.c_ushort), ('steps', ctypes.c_char_p)]


prctl = ctypes.CDLL(None, use_errno=True).prctl
program = Program(len(steps) // 8, steps)
none = ctypes.c_ulong(0)
if (prctl(PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), none, none, none) != 0 or
        prctl(PR_SET_SECCOMP, ctypes.c_ulong(SECCOMP_MODE_FILTER), ctypes.byref(program)) != 0):
    print('skipped: no filter:', os.strerror(ctypes.get_errno()), file=sys.stderr)
    sys.exit(77)
os.environ.pop('LEAT_IO', None)
os.execv(sys.argv[2], sys.argv[2:])
