#!/usr/bin/env python3
"""The pages of docs/tutorial: their code is that of the programs, and their commands print what the page shows.

    tutorial.py ROOT PROGRAMS [LESSON...]

PROGRAMS is the folder of the compiled lessons and solutions. A command is a line of a block `console` that begins with
"$ "; the lines that follow it are its output. "..." in an output stands for any text. A page shows its program in
portions, which together are the whole file. Status 77: the texts of this machine are not those of the pages.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

root = pathlib.Path(sys.argv[1]).resolve()
programs = pathlib.Path(sys.argv[2]).resolve()
patience = 60

TEXTS = {'Apache-2.0': 11358, 'GPL-1': 12632, 'GPL-2': 18092, 'GPL-3': 35149}
FOLDER = pathlib.Path('/usr/share/common-licenses')
# Numbers that differ between runs.
VARIES = re.compile(r'(?<=starts after )\d+|(?<=stopped after )\d+|\d+(?= words until)')
LESSONS = ['1_queue', '2_readers', '3_pipeline', '4_stop', '5_resume', '6_simulation']


def require(holds, what, *details):
    if not holds:
        sys.exit(f'tutorial: {what}\n' + '\n'.join(str(d) for d in details))


def folder_of_programs(name):
    folder = pathlib.Path(name)
    for lesson in LESSONS:
        (folder / lesson).symlink_to(programs / lesson)
        (folder / f'{lesson}_solution').symlink_to(programs / f'{lesson}_solution')
    return folder


def matches(output, shown):
    parts = VARIES.sub('N', shown).split('...')
    return re.fullmatch('.*?'.join(map(re.escape, parts)), VARIES.sub('N', output), re.DOTALL)


def run(command, folder, **options):
    """Its output on both channels, and its status."""
    done = subprocess.run(['bash', '-c', command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False, timeout=patience, **options)
    return done.stdout + ('Killed\n' if done.returncode in (-9, 137) else ''), done.returncode


def check_code(page, text):
    """The portions are the program, and the sections of its exercise are in its solution."""
    name = f'examples/tutorial/{page}.cpp'
    portions = re.findall(rf'<!-- snippet: {re.escape(name)}#\w+ -->\n+```cpp\n(.*?)^```', text, re.M | re.S)
    program = (root / name).read_text().split('\n', 1)[1]
    program = re.sub(r'^ *//! \[.*\]\n', '', program, flags=re.M)

    def lines(code):
        return [line for line in code.splitlines() if line]
    require(lines(''.join(portions)) == lines(program), f'{page}.md does not show all of {name}, in its order')
    require(f'g++ -std=c++20 {page}.cpp -o {page} $(pkg-config --cflags --libs leat)' in text,
            f'{page}.md does not show how to compile it')


def difference(page, text, folder):
    """The first command that does not print what the page shows."""
    for block in re.findall(r'^```console\n(.*?)^```', text, re.M | re.S):
        for command, shown in re.findall(r'^\$ (.*(?:\\\n.*)*)\n((?:(?!\$ ).*\n)*)', block, re.M):
            if command.startswith('g++ '):
                continue
            output, _ = run(command, folder)
            if command.startswith('./6_simulation /'):  # has the bug that the lesson finds, which a slow read shows
                shown = re.sub(r'^\d+', '...', shown)
            if not matches(output, shown):
                return f'{page}.md: {command}\n--- shown\n{shown}--- printed\n{output}'
    return None


def check_inputs(folder):
    """What the pages do not show: files that are missing, empty, or not files."""
    (folder / 'empty').write_text('')
    for command, shown, wanted in [
            ('./1_queue missing', 'error: cannot open missing\n', 1),
            ('./1_queue empty', '0 words\n', 0),
            ('./1_queue', 'usage: ...', 2),
            ('./1_queue_solution empty', "0 words, the longest is ''\n", 0),
            ('./2_readers missing', 'error: no file matches\n', 1),
            ('./2_readers empty', 'empty: 0 words\n', 0),
            ('./2_readers empty .', 'error: ... directory\n', 1),
            ('./2_readers_solution <empty', '', 0),
            ('echo missing | ./2_readers_solution', 'error: missing: ...', 1),
            ("printf '%s\\nempty' empty | ./2_readers_solution", 'empty: 0 words\n', 0),
            ('./2_readers empty missing', 'empty: 0 words\n', 0),
            ('./3_pipeline missing', "error: ...'missing'...", 1),
            ('./3_pipeline empty', "0 words, 0 times 'the'\n", 0),
            ('./4_stop missing', 'error: missing: ... directory\n', 1),
            ('./4_stop empty', '0 words\n', 0),
            ('./5_resume run_missing missing', "starts after 0 batches\nerror: ...'missing'...", 1),
            ('./5_resume run_empty empty', 'starts after 0 batches\n0 batches...', 0)]:
        output, status = run(command, folder)
        require(status == wanted and matches(output, shown), command, status, output)


def check_open_input(folder):
    """The solution of lesson 2 ends with the error while its standard input is open, with or without a part of a line."""
    for rest in ('', 'more'):
        with subprocess.Popen(['./2_readers_solution'], cwd=folder, stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as job:
            job.stdin.write('missing\n' + rest)
            job.stdin.flush()
            try:
                status = job.wait(patience)
            except subprocess.TimeoutExpired:
                job.kill()
                sys.exit('tutorial: the solution of lesson 2 waits for input after an error')
            printed = job.stderr.read()
            require(status == 1 and matches(printed, 'error: missing: ...'), 'lesson 2', status, printed)


def check_signals(folder):
    """Lesson 4 ends by either signal, with the number of words so far."""
    for name in ('INT', 'TERM'):
        command = f'timeout --foreground --preserve-status --signal={name} 1 ./4_stop {FOLDER}/GPL-3'
        output, status = run(command, folder)
        words = re.fullmatch(r'(\d+) words until it was stopped\n', output)
        require(status == 75 and words and 0 < int(words[1]) < 5644, command, status, output)


def check_kills(folder):
    """Lesson 5 is killed at many points, by the program or its solution, and ends as if it was not."""
    inputs = f'{FOLDER}/Apache-2.0 {FOLDER}/GPL-3'
    whole, status = run(f'./5_resume whole {inputs}', folder)
    require(status == 0, 'lesson 5 fails', whole)
    command = f'timeout --foreground --preserve-status --signal=INT 1 ./5_resume stopped {inputs}'
    output, status = run(command, folder)
    require(status == 75 and matches(output, 'starts after 0 batches\nstopped after 9 batches\n'), command, status, output)
    starts = []
    for attempt in range(100):
        program = '5_resume_solution' if attempt % 2 else '5_resume'
        job = subprocess.Popen([f'./{program}', 'killed', *inputs.split()], cwd=folder, stdout=subprocess.PIPE,
                               text=True)
        first = job.stdout.readline()
        starts.append(int(re.fullmatch(r'starts after (\d+) batches\n', first)[1]))
        try:
            job.wait(0.1 + 0.13 * attempt)
        except subprocess.TimeoutExpired:
            job.kill()
        output = first + job.communicate(timeout=patience)[0]
        if job.returncode == 0:
            break
        require(job.returncode == -9, 'lesson 5 ends by itself', job.returncode, output)
    require(matches(output, whole), 'lesson 5 ends otherwise after it was killed', whole, output)
    require(starts == sorted(starts) and len(set(starts)) > 2, 'lesson 5 does not resume', starts)


def check_simulation(folder):
    """Lesson 6 finds the same seed each time, and each run of that seed is the same."""
    found = [run('./6_simulation', folder) for _ in range(2)]
    require(found[0] == found[1] and found[0][1] == 1, 'lesson 6 is not repeatable', *found)
    command = re.search(r'^\w+: (LEAT_SIM_SEED=.*)$', found[0][0], re.M)[1]
    again = [run(command, folder) for _ in range(2)]
    require(again[0] == again[1] and found[0][0] in again[0][0], 'the seed of lesson 6 is another run', *again)


CHECKS = {'1_queue': check_inputs, '2_readers': check_open_input, '4_stop': check_signals, '5_resume': check_kills,
          '6_simulation': check_simulation}


def main():
    if any(not (FOLDER / name).is_file() or (FOLDER / name).stat().st_size != size for name, size in TEXTS.items()):
        print('skipped: the texts in /usr/share/common-licenses are not those of Debian 12')
        return 77
    for lesson in sys.argv[3:] or LESSONS:
        text = (root / 'docs' / 'tutorial' / f'{lesson}.md').read_text()
        check_code(lesson, text)
        # On a busy machine, a signal that is sent at a fixed time may arrive too early.
        for _ in range(4 if 'timeout --' in text else 1):
            with tempfile.TemporaryDirectory() as temporary:
                folder = folder_of_programs(temporary)
                different = difference(lesson, text, folder)
                if different:
                    continue
                CHECKS.get(lesson, lambda _: None)(folder)
                break
        require(not different, different)
    return 0


if __name__ == '__main__':
    sys.exit(main())
