#!/usr/bin/env python3
"""Checks that the manual page describes the options of the command as its --help does. With --fix it writes them.

    manual.py LEAT MANUAL [--fix]

The options of a command are between the comments `options of COMMAND` and `end of options` in the manual page. The rest
of the page is written by hand. help.hpp describes the texts.
"""

import json
import pathlib
import re
import subprocess
import sys

BLOCK = re.compile(r'(\.\\" options of ([^\n]+)\n)(.*?)(\.\\" end of options\n)', re.S)


def troff(text, value):
    """Escapes a text; options are bold, and the name of the option's value is italic."""
    text = text.replace('\\', '\\e').replace("'", '\\(aq').replace('-', '\\-')
    text = re.sub(r'(?<![\w-])(\\-\\-[a-z]+(\\-[a-z]+)*)', r'\\fB\1\\fR', text)
    if value:
        text = re.sub(rf'\b{value}\b', rf'\\fI{value}\\fR', text)
    return re.sub(r'(?m)^(?=[.\'])', r'\\&', text)


def sentences(text):
    """Starts a line for each sentence, as is usual in troff."""
    return re.sub(r'([.:]) +(?=[A-Z\\])', r'\1\n', text)


def head(option):
    names = [f'\\fB{name}\\fR'.replace('-', '\\-') for name in option['names']]
    return ', '.join(names) + (f' \\fI{option["value"]}' if option.get('value') else '')


def item(option):
    value = option.get('value')
    first, *paragraphs = option['text'].split('\n\n')
    lines = ['.TP', head(option), troff(first.replace('\n', ' '), value) + '.']
    for number, paragraph in enumerate(paragraphs):
        text, *items = re.split(r'\n- ', paragraph)
        if number > 0:
            lines.append('.IP')
        lines.append(sentences(troff(text, value)))
        if items:
            lines.append('.RS')
            for each in items:
                lines += ['.IP \\(bu 2', sentences(troff(each, value))]
            lines.append('.RE')
    return '\n'.join(lines) + '\n'


def block(wanted, others):
    """The options of a command; those that an earlier command has too are only named."""
    known = {(tuple(o['names']), o['text']): o['command'] for o in reversed(others) if 'command' in o}
    text, same = '', {}
    for option in wanted:
        command = known.get((tuple(option['names']), option['text']))
        if command:
            same.setdefault(command, []).append(option['names'][-1])
        else:
            text += item(option)
    for command, names in same.items():
        names = [f'\\fB{name}\\fR'.replace('-', '\\-') for name in names]
        text += f'.PP\nThe options\n{", ".join(names[:-1])} and {names[-1]}\nare the same as for \\fB{command}\\fR.\n'
    return text


def blocks_of(options):
    """Returns the text of each block by its name: a command, `all commands` or a group."""
    names = dict.fromkeys(o.get('group') or o.get('command') or 'all commands' for o in options)
    found = {}
    for name in names:
        wanted, others, seen = [], [], set()
        for o in options:
            if (o.get('group') or o.get('command') or 'all commands') == name:
                key = tuple(o['names'])
                if key not in seen and (name == 'all commands' or key[-1] not in ('--help', '--json')):
                    wanted.append(o)
                seen.add(key)
            elif not wanted and 'group' not in o:
                others.append(o)
        if wanted:
            found[name] = block(wanted, others)
    return found


def main():
    leat, page = sys.argv[1], pathlib.Path(sys.argv[2])
    listed = subprocess.run([leat, '--list-options'], check=True, capture_output=True, text=True).stdout
    wanted = blocks_of(json.loads(listed))
    text = page.read_text()
    present = {match[2] for match in BLOCK.finditer(text)}
    found = [f'{page.name}: no block "options of {name}"' for name in wanted if name not in present]
    found += [f'{page.name}: block "options of {name}": no such command' for name in present if name not in wanted]
    updated = BLOCK.sub(lambda match: match[1] + wanted.get(match[2], '') + match[4], text)
    if updated != text and '--fix' in sys.argv:
        page.write_text(updated)
    elif updated != text:
        found.append(f'{page.name}: options differ from --help: run ./dev lint --fix')
    print('\n'.join(found))
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
