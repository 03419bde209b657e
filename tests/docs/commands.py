#!/usr/bin/env python3
"""Checks that each block of shell commands in README, CONTRIBUTING and docs names the test that runs it, or states why
none does, and that the shell can parse it; see tests/support/command_blocks.py.

    commands.py PROJECT
"""

import pathlib
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / 'support'))
from command_blocks import LESSONS, MARK, blocks, documents  # noqa: E402

root = pathlib.Path(sys.argv[1])
NO_TEST = 'not run: '
test_lists = ''.join(path.read_text() for path in (root / 'tests').rglob('meson.build'))


def problem(block):
    """What is wrong with a block, or nothing."""
    for command, _ in block.commands():
        parsed = subprocess.run(['sh', '-n'], input=command, capture_output=True, text=True)
        if parsed.returncode != 0:
            return f'sh cannot parse this block: {parsed.stderr.strip()}'
    if not block.mark:
        return ('no test runs these commands: write <!-- commands: tests/... --> before the block, with the script '
                'that runs it, or <!-- commands: not run: REASON -->')
    if block.mark.startswith(NO_TEST):
        return None if block.mark[len(NO_TEST):].strip() else 'the reason is missing'
    script = root / block.mark
    if not script.is_file():
        return f'{block.mark}: no such file'
    if block.mark != LESSONS and f"'{block.mark}'" not in script.read_text():
        return f'{block.mark} does not read the blocks that name it: call blocks_of()'
    if script.name not in test_lists and f"'{script.name.removesuffix('_test.py')}'" not in test_lists:
        return f'{block.mark} is in no meson.build'
    return None


def main():
    found = blocks(root)
    wrong = [f'{block.place}: {what}' for block in found if (what := problem(block))]
    for path in documents(root):
        name = path.relative_to(root)
        marks = sum(MARK.fullmatch(line) is not None for line in path.read_text().splitlines())
        marked = sum(block.document == name and block.mark != '' for block in found)
        if marks > marked:
            wrong.append(f'{name}: a comment "commands:" is not in front of a block of commands')
    print('\n'.join(wrong) or f'{len(found)} blocks of commands')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
