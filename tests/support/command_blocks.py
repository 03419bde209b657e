"""Finds the blocks of shell commands in README.md, CONTRIBUTING.md and docs.

A block is fenced as `sh` or `console`, or indented. In a block with prompts, a line that begins with "$ " is a
command, and the lines that follow it are its output. A comment in front of the block names the script that runs it,
or states why no script does:

    <!-- commands: tests/install/readme.py -->
    <!-- commands: not run: it needs a Slurm cluster -->
"""

import pathlib
import re
from typing import NamedTuple

MARK = re.compile(r'<!-- commands: (.*) -->')
FENCE = re.compile(r'```(sh|console)$')
# The first line of an indented block of commands; other indented blocks show output or code.
FIRST = re.compile(r' {4}(\$ |\./|(sudo|meson|ninja|cmake|g\+\+|python3|gdb|leat|tensorboard|export) )')
COMMAND = re.compile(r'^\$ (.*(?:\\\n.*)*)\n((?:(?!\$ ).*\n)*)', re.MULTILINE)
# tutorial.py runs the lessons, whose code and commands belong together.
LESSONS = 'tests/examples/tutorial.py'


class Block(NamedTuple):
    document: pathlib.Path
    line: int
    text: str
    mark: str  # empty if the block has none

    @property
    def place(self):
        return f'{self.document}:{self.line}'

    def commands(self):
        """Pairs of a command and the output that the document shows. Without prompts, one pair without output."""
        return COMMAND.findall(self.text) if self.text.startswith('$ ') else [(self.text, '')]


def documents(root):
    return [root / 'README.md', root / 'CONTRIBUTING.md', *sorted((root / 'docs').rglob('*.md'))]


def blocks(root):
    """Returns all blocks of commands."""
    return [block for path in documents(root) for block in blocks_in(path, path.relative_to(root))]


def blocks_of(root, script):
    """Returns the blocks that name this script."""
    found = [block for block in blocks(root) if block.mark == script]
    if not found:
        raise SystemExit(f'no block of commands names {script}')
    return found


def blocks_in(path, name):
    lines = path.read_text().splitlines()
    is_lesson = name.parent.name == 'tutorial'
    at = 0
    while at < len(lines):
        begin, line = at, lines[at]
        at += 1
        if line.startswith('```'):
            while lines[at] != '```':
                at += 1
            inner = lines[begin + 1:at]
            at += 1
            if not FENCE.match(line):
                continue
        elif FIRST.match(line):
            while at < len(lines) and (lines[at].startswith('    ') or not lines[at]):
                at += 1
            inner = [indented[4:] for indented in lines[begin:at]]
            while not inner[-1]:
                inner.pop()
        else:
            continue
        before = next((text for text in reversed(lines[:begin]) if text), '')
        mark = MARK.fullmatch(before)
        yield Block(name, begin + 1, '\n'.join(inner) + '\n', mark[1] if mark else LESSONS * is_lesson)
