#!/usr/bin/env python3
"""Checks the cost of including leat: which headers of other libraries it includes, and the number of lines.

    header_cost.py PROJECT COMPILER [flags]

The headers of the standard library differ between versions, so the check applies the limits of lines and of standard
headers only with g++ 12. If more lines are intended, raise a limit here and update the figures in docs/headers.md.
"""

import pathlib
import re
import subprocess
import sys

project, compiler, flags = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
FOUR = ['leat/async/loop/block_on.hpp', 'leat/async/task.hpp', 'leat/async/task_group.hpp', 'leat/queue/fifo_queue.hpp']

# Each adds tenths of a second to the compile time of a file.
LIBRARIES = r'asio\.hpp|asio/io_context\.hpp|liburing\.h|nlohmann/.*|protozero/.*'
STANDARD = 'codecvt|execution|filesystem|fstream|future|iomanip|iostream|memory_resource|random|ranges|regex'
# Headers that include most of Asio, and standard headers that few files need.
MOST_OF_ASIO = r'asio/(any_io_executor|associated_executor|execution|post|system_executor)\.hpp'
RARELY_NEEDED = 'any|deque|list|map|set|thread'

# Headers, the libraries and standard headers that they must not include, and the maximum number of non-empty lines.
LIMITS = [
    (['leat/leat.hpp'], LIBRARIES, STANDARD, 112_000),
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
    included -= {path for path in included if pathlib.Path(path).is_relative_to(project / 'include')}
    found += [f'{name}: includes {path}' for path in sorted(included) if re.search(rf'/({forbidden})$', path)]
    lines = sum(1 for line in text.splitlines() if line.strip() and not line.startswith('#'))
    if is_gcc_12 and lines > most:
        found.append(f'{name}: {lines} lines including all headers, but the limit is {most}')

print('\n'.join(found))
sys.exit(1 if found else 0)
