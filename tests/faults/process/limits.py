#!/usr/bin/env python3
"""Runs programs with the limits of a small container: few descriptors, little memory and small files.
With --disk the disk is full; this test is skipped if mounts are not permitted.

    limits.py READ_LINES TFRECORD
    limits.py --disk TFRECORD
"""

import pathlib
import resource
import subprocess
import sys
import tempfile

first, tfrecord = sys.argv[1:3]


def run(command, limit, value):
    def set_limit():
        resource.setrlimit(limit, (value, value))
    return subprocess.run(command, preexec_fn=set_limit, capture_output=True, text=True, timeout=60)


def require(holds, what, result):
    if not holds:
        sys.exit(f'{what}\nexit status {result.returncode}\n{result.stdout}{result.stderr}')


def on_small_disk(command, folder):
    """Runs a command with a disk of 64 KiB mounted at `folder`. The output ends with the remaining
    files. Returns None if mounts are not permitted."""
    script = ('mount -t tmpfs -o size=64k none "$0" || exit 77; "$@"; status=$?; '
              'echo "left: $(ls -A "$0")"; exit $status')
    result = subprocess.run(
        ['unshare', '--user', '--map-root-user', '--mount', 'sh', '-c', script, folder, *command],
        capture_output=True, text=True, timeout=60)
    refused = result.returncode == 77 or 'unshare failed' in result.stderr
    return None if refused else result


def few_descriptors(folder):
    for i in range(1000):
        (folder / f'{i:04}.txt').write_text('one\ntwo\n')

    result = run([first, f'{folder}/*.txt'], resource.RLIMIT_NOFILE, 32)
    require(result.returncode == 0 and '1000 files, 2000 lines' in result.stdout,
            'a thousand files with 32 descriptors', result)

    result = run([first, f'{folder}/*.txt'], resource.RLIMIT_NOFILE, 4)
    require(result.returncode != 0 and 'Too many open files' in result.stderr,
            'with 4 descriptors it says what it lacks', result)

    result = run([first, f'{folder}/*.txt'], resource.RLIMIT_AS, 512 << 20)
    require(result.returncode == 0 and '1000 files' in result.stdout,
            'a thousand files in 512 MiB of address space', result)


def small_files(folder):
    target = folder / 'out.tfrecord'
    result = run([tfrecord, target], resource.RLIMIT_FSIZE, 64 << 10)
    require(result.returncode != 0, 'a file larger than 64 KiB cannot be', result)
    require(not target.exists(), 'a file that is not whole has no name', result)


def full_disk(folder):
    disk = folder / 'disk'
    disk.mkdir()
    result = on_small_disk([tfrecord, disk / 'out.tfrecord'], disk)
    if result is None:
        print('skipped: nothing may be mounted here')
        sys.exit(77)
    require(result.returncode != 0 and 'No space left on device' in result.stderr,
            'a full disk is told', result)
    require(result.stdout == 'left: \n', 'a full disk leaves nothing behind', result)


with tempfile.TemporaryDirectory() as temporary:
    for test in [full_disk] if first == '--disk' else [few_descriptors, small_files]:
        test(pathlib.Path(temporary))
