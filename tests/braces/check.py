#!/usr/bin/env python3
"""The generator asks for what it does not know: a new function, and a list it takes."""

import subprocess
import sys
import tempfile
from pathlib import Path

HEADER = '''
namespace leat {
struct new_options {
  int size = 1;
  braced<std::map<int, int>> table = {};
};
/// What a comment says, task<void> f(old_options o), is no function.
[[nodiscard]] task<void> begin(std::vector<std::string> names, new_options options = {});
}
'''

here = Path(__file__).parent
with tempfile.TemporaryDirectory() as folder:
    include = Path(folder) / 'leat'
    (include / 'core').mkdir(parents=True)
    (include / 'core' / 'begin.hpp').write_text(HEADER)

    def errors(fixture):
        (Path(folder) / 'fixture.hpp').write_text(fixture)
        done = subprocess.run([sys.executable, here / 'generate.py', include,
                               Path(folder) / 'fixture.hpp', Path(folder) / 'out.cpp'],
                              capture_output=True, text=True)
        assert done.returncode != 0, 'it generates a test of functions that it does not know'
        return done.stderr

    said = errors('')
    assert '#define CALL_begin(...) leat::begin(__VA_ARGS__)' in said, said
    assert 'begin() takes a std::vector<std::string>' in said, said
    said = errors('#define CALL_begin(...) leat::begin({}, __VA_ARGS__)\n')
    assert 'new_options::table is a std::map<int, int>: add to SAMPLES' in said, said
    assert 'CALL_begin' not in said, said
