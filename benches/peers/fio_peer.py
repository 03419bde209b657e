#!/usr/bin/env python3
"""Runs fio with io_uring on a file that is not cached. Its options are those of the other programs.

tfrecord/random-cold   reads blocks in random order through the page cache, 64 reads in flight; a block
                       is as large as a record with its frame
tfrecord/cold-direct   reads the file in order with direct I/O, four reads of 1 MiB in flight
file/cold-direct       like tfrecord/cold-direct
"""

import argparse
import json
import subprocess

parser = argparse.ArgumentParser()
parser.add_argument('--workload')
parser.add_argument('--items', type=int)
parser.add_argument('--file')
parser.add_argument('--measure', default='time')
options = parser.parse_args()


def fio(*arguments):
    done = subprocess.run(
        ['fio', '--name=read', f'--filename={options.file}', '--readonly', '--ioengine=io_uring',
         '--invalidate=1', '--output-format=json', *arguments],
        check=True, capture_output=True, text=True)
    return json.loads(done.stdout)['jobs'][0]


if 'random' in options.workload:
    block = {'1KiB': 1024 + 16, '4KiB': 4096}[options.workload.rsplit('/')[-1]]
    job = fio('--rw=randread', '--direct=0', '--iodepth=64', f'--bs={block}',
              f'--io_size={options.items * block}')
    subject, value, unit = 'fio, io_uring, depth 64', 1e9 / job['read']['iops'], 'ns/record'
else:
    job = fio('--rw=read', '--direct=1', '--iodepth=4', '--bs=1M')
    seconds = job['read']['runtime'] / 1000
    gigabytes = job['read']['io_bytes'] / 1e9
    subject, value, unit = 'fio, direct, 4 of 1 MiB', gigabytes / max(seconds, 0.001), 'GB/s'
    if options.measure == 'cpu':
        value = (job['usr_cpu'] + job['sys_cpu']) / 100 * seconds / gigabytes
        unit = 'cpu s/GB'
print(json.dumps({'workload': options.workload, 'subject': subject, 'value': value, 'unit': unit}))
