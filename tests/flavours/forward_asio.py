#!/usr/bin/env python3
"""Writes headers with the names of standalone Asio that include those of Boost.Asio.

So the tests and examples, which are written for standalone Asio, compile with Boost.Asio too: their
`asio::` is then an alias of `boost::asio`.

usage: forward_asio.py FOLDER COMPILER...
"""
import pathlib
import subprocess
import sys

TEXT = '''#pragma once
#include <boost/{header}>
namespace boost::asio {{}}
namespace asio = boost::asio;
'''

folder = pathlib.Path(sys.argv[1])
output = subprocess.run([*sys.argv[2:], '-E', '-M', '-x', 'c++', '-'], input='#include <boost/asio/version.hpp>\n',
                        check=True, capture_output=True, text=True).stdout
boost = next(pathlib.Path(word).parents[1] for word in output.split() if word.endswith('boost/asio/version.hpp'))
for path in [boost / 'asio.hpp', *(boost / 'asio').rglob('*.hpp')]:
    header = path.relative_to(boost)
    if header.parts[1:2] not in [('detail',), ('impl',)]:
        (folder / header).parent.mkdir(parents=True, exist_ok=True)
        (folder / header).write_text(TEXT.format(header=header))
