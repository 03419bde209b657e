#!/usr/bin/env python3
"""fio reads blocks of a file in random order, through io_uring and the page cache, none of it cached; 64
reads under way. Called like the other benches; the block size is that of a record with its frame."""

import argparse
import json
import subprocess

parser = argparse.ArgumentParser()
parser.add_argument('--workload')
parser.add_argument('--items', type=int)
parser.add_argument('--file')
options = parser.parse_args()

BLOCK = 4096
done = subprocess.run(
    ['fio', '--name=randread', f'--filename={options.file}', '--readonly', '--rw=randread',
     '--ioengine=io_uring', '--direct=0', '--invalidate=1', '--iodepth=64', f'--bs={BLOCK}',
     f'--io_size={options.items * BLOCK}', '--output-format=json'],
    check=True, capture_output=True, text=True)
read = json.loads(done.stdout)['jobs'][0]['read']
print(json.dumps({'workload': options.workload, 'subject': 'fio, io_uring, depth 64',
                  'value': 1e9 / read['iops'], 'unit': 'ns/record'}))
