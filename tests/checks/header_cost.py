#!/usr/bin/env python3
"""What a user's file pays for including leat: which headers of others come with it, and how many lines.

    header_cost.py PROJECT COMPILER [flags]

What the standard library includes and how long it is differs from version to version: these limits are checked with
g++ 12 only. To include more deliberately, raise a limit here and measure docs/headers.md again.
"""

import pathlib
import re
import subprocess
import sys

project, compiler, flags = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
FOUR = ['leat/async/loop/sync_wait.hpp', 'leat/async/task.hpp', 'leat/async/task_group.hpp', 'leat/queue/fifo_queue.hpp']

# Each costs a user's file tenths of a second.
LIBRARIES = r'asio\.hpp|asio/io_context\.hpp|liburing\.h|nlohmann/.*|protozero/.*'
STANDARD = 'codecvt|execution|filesystem|fstream|future|iomanip|iostream|memory_resource|random|ranges|regex'
# What most of Asio comes with, or what only a few need.
MOST_OF_ASIO = r'asio/(any_io_executor|associated_executor|execution|post|system_executor)\.hpp'
RARELY_NEEDED = 'any|deque|list|map|set|thread'

# Headers, what they must not include, and how many lines there are at most, apart from empty ones.
LIMITS = [
    (['leat/leat.hpp'], LIBRARIES, STANDARD, 109_000),
    (FOUR, f'{LIBRARIES}|{MOST_OF_ASIO}', f'{STANDARD}|{RARELY_NEEDED}', 72_000),
]


def preprocess(headers):
    source = ''.join(f'#include <{header}>\n' for header in headers)
    command = [compiler, '-std=c++20', '-x', 'c++', '-E', '-', f'-I{project / "include"}', *flags]
    return subprocess.run(command, input=source, stdout=subprocess.PIPE, text=True, check=True).stdout


version = subprocess.run([compiler, '--version'], stdout=subprocess.PIPE, text=True, check=True).stdout
is_gcc_12 = 'clang' not in version and re.search(r'\) 12\.\d', version)
found = []
for headers, libraries, standard, most in LIMITS:
    name = headers[0] if len(headers) == 1 else f'the {len(headers)} headers of docs/headers.md'
    text = preprocess(headers)
    forbidden = rf'{libraries}|c\+\+/\d+/({standard})' if is_gcc_12 else libraries
    included = set(re.findall(r'^# \d+ "([^"]+)"', text, re.MULTILINE))
    found += [f'{name}: includes {path}' for path in sorted(included) if re.search(rf'/({forbidden})$', path)]
    lines = sum(1 for line in text.splitlines() if line.strip() and not line.startswith('#'))
    if is_gcc_12 and lines > most:
        found.append(f'{name}: {lines} lines with all that they include, and the limit is {most}')

print('\n'.join(found))
sys.exit(1 if found else 0)
