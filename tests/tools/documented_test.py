#!/usr/bin/env python3
"""The commands of leat that README and docs show succeed, and print what the page shows.

"..." in an output stands for any text.
"""

import os
import pathlib
import re
import subprocess
import sys

from checkpoints_test import checkpoint
from report_test import VERSION, scalar
from support import LEAT, ToolTest, example, main, records_file
from trace_test import EVENTS, trace

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / 'tests' / 'support'))
from command_blocks import blocks_of  # noqa: E402

ADA = example(age=[42], name=[b'Ada'], weight=[0.1])
PIPELINE = '[source]\nformat = "lines"\nfiles = ["lines.txt"]\n[[stage]]\nkind = "batch"\nsize = 2\n'
# The places of its errors are those that the page shows.
WRONG = ('[source]\nfiles = ["lines.txt"]\ninterleave=0\nformat = "tfrecord"\n\n\n'
         '[[stage]]\nkind = "batch"\n')


class Documented(ToolTest):
    def make_inputs(self):
        """Writes the files that the commands read."""
        for folder in ['bin', 'data', 'runs/1', 'train']:
            (self.folder / folder).mkdir(parents=True)
        (self.folder / 'bin' / 'leat').symlink_to(LEAT)
        (self.folder / 'bin' / 'tensorboard').symlink_to('/bin/true')
        for name in ['train-00000-of-00100', 'train-00001-of-00100', 'data/points-0', 'people']:
            self.write(f'{name}.tfrecord', records_file(ADA))
        self.write('broken.tfrecord', records_file(ADA, ADA)[:-1])
        self.write('lines.txt', b'one\ntwo\nthree\n')
        self.write('people.csv', b'age,name,weight\n42,Ada,0.1\n')
        self.write('runs/1/events.out.tfevents.1', records_file(VERSION, scalar('loss', 1, 0.5)))
        self.write('train/model.ckpt-1000', checkpoint(w=('float32', 4, bytes(8))))
        self.write('train/checkpoint', b'model_checkpoint_path: "model.ckpt-1000"\n')
        self.write('pipeline.toml', PIPELINE.encode())
        self.write('wrong.toml', WRONG.encode())
        self.write('trace.json', trace(EVENTS))
        self.write('some-large-file', bytes(1 << 20))

    def run_block(self, block):
        environment = {**os.environ, 'PATH': f'{self.folder}/bin:{os.environ["PATH"]}'}
        for command, shown in block.commands():
            # A command that shows errors fails.
            options = '' if 'leat: ' in shown else '-e'
            done = subprocess.run(['sh', *options.split(), '-c', command], cwd=self.folder, env=environment, text=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  timeout=60)
            self.assertEqual(done.returncode != 0, 'leat: ' in shown, f'{block.place}: {command}\n{done.stdout}')
            if shown:
                pattern = '.*?'.join(map(re.escape, shown.strip().split('...')))
                self.assertRegex(done.stdout.strip(), re.compile(f'^{pattern}$', re.DOTALL), block.place)

    def test_the_commands_of_the_documents(self):
        for block in blocks_of(ROOT, 'tests/tools/documented_test.py'):
            with self.subTest(block.place):
                self.setUp()
                self.make_inputs()
                self.run_block(block)


main()
