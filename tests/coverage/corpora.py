#!/usr/bin/env python3
"""Reports the lines of a parser that the corpus of its fuzz target runs, without mutation.

    corpora.py ROOT BUILD [TARGET...] [--missing] [--lines PERCENT]

Runs BUILD/tests/replay_TARGET (built with coverage by clang) over tests/fuzz/corpus/TARGET. Prints
the share of the covered lines in each source of the target. Fails if a target is below the goal.
A failing LEAT_ASSERT is not counted, because it ends the process and loses the profile.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

from report import asserted, lines_of, llvm, percent

# Target -> source -> names of the excluded functions. A program calls these with its own values and
# options, such as writers and constructors with checks, or they serve processors without AVX2.
# Targets that are missing here combine the code of other targets.
TARGETS = {
    'checkpoint': {
        'codec/checkpoint/checkpoint_state.cpp': [],
        'codec/checkpoint/checkpoint_table.cpp': ['check_text', 'assign_offsets'],
    },
    'csv_decoder': {
        'codec/csv/csv_block.cpp': [],
        'codec/csv/csv_decoder.cpp': ['throw_csv_error', 'check_column', 'check_options', 'csv_decoder::\w+'],
        'codec/csv/csv_splitter.cpp': ['mark_portably', 'mark'],
        'codec/csv/csv_values.cpp': [],
        'codec/text/parse_number.cpp': [],
    },
    'csv_reader': {
        'codec/csv/csv_record_splitter.cpp': ['mark_piece_portably', 'mark_piece'],
        'io/reader/csv_reader.cpp': ['csv_framing::csv_framing', 'csv_framing::key'],
    },
    'event': {
        'codec/event/event.cpp': ['to_float', 'add_values', 'add_scalar', 'add_histogram',
                            'merge_summaries'],
    },
    'example': {
        'codec/example/decode_example.cpp': [],
        'codec/example/example_fields.cpp': ['example_reader'],
        'codec/example/example_parser.cpp': [],
        'codec/example/example_wire.cpp': [],
        'codec/example/feature_columns.cpp': [],
        'codec/example/feature_layout.cpp': ['throw_error', 'request_key', 'check', 'check_type', 'check_shape',
                                   'check_default', 'check_names'],
        'codec/example/partitioned_column.cpp': [],
        'codec/example/value_column.cpp': [],
    },
    'fixed_length': {'io/reader/fixed_length_reader.cpp': ['check_length', 'fixed_length_framing::key']},
    'inflater': {
        'codec/compression/inflater.cpp': ['may_be_zlib', 'try_to_inflate', 'match_zlib'],
        'codec/compression/raw_inflater.cpp': [],
        'codec/compression/deflate_header.cpp': [],
    },
    'json_example': {
        'base/text/base64.cpp': [],
        'codec/example/decode_json_example.cpp': ['decode_json_example'],
    },
    'line_splitter': {'codec/text/line_splitter.cpp': []},
    'queue_runner_def': {
        'input/queue_runner_def.cpp': ['checked_name', 'queue_of', 'options_of', 'of', 'make_queue_runner'],
    },
    'saved_state': {
        'io/index/indexed_reader_state.cpp': [],
        'io/index/reshard_epoch.cpp': [],
        'pipeline/source/files_state.cpp': [],
        'pipeline/source/indexed_state.cpp': [],
        'pipeline/source/version_fields.cpp': [],
        'pipeline/stage/applying_stage.cpp': [],
        'pipeline/stage/batch_stage.cpp': [],
        'pipeline/stage/shuffle_stage.cpp': [],
        'pipeline/state/match_state.cpp': [],
        'pipeline/state/saved_stage.cpp': [],
        'pipeline/state/state_fields.cpp': [],
        'input/reader_state.cpp': [],
    },
    'sequence_example': {
        'codec/example/sequence_example_parser.cpp': ['sequence_example_parser::sequence_example_parser',
                                              'sequence_example_parser::operator='],
        'codec/example/step_columns.cpp': [],
    },
    'tfrecord': {'codec/tfrecord/tfrecord.cpp': []},
    'tfrecord_index': {'codec/tfrecord/tfrecord_index.cpp': []},
}


def lines_of_functions(source, names):
    """Returns the lines of the functions with these names that start in the first column."""
    inside, left_out = set(), False
    head = re.compile(rf'(?:\S.*[ &*])?(?:\w+::)*(?:{"|".join(names)})\(') if names else None
    for number, line in enumerate(source.split('\n'), 1):
        left_out = left_out or bool(head and head.match(line))
        if left_out:
            inside.add(number)
        if line.startswith('}') or line[:1].strip() and line.endswith((';', ' }')):
            left_out = False
    return inside


def lines_run(root, build, target):
    """Source -> line -> whether the corpus has run it."""
    folder = build / 'corpora'
    folder.mkdir(exist_ok=True)
    raw, merged = folder / f'{target}.profraw', folder / f'{target}.profdata'
    program = build / 'tests' / f'replay_{target}'
    subprocess.run([program, root / 'tests' / 'fuzz' / 'corpus' / target], check=True,
                   stdout=subprocess.DEVNULL, env={**os.environ, 'LLVM_PROFILE_FILE': str(raw)})
    llvm('profdata', 'merge', '-sparse', raw, '-o', merged)
    sources = [root / 'lib' / name for name in TARGETS[target]]
    exported = json.loads(llvm('cov', 'export', program, f'-instr-profile={merged}',
                               '-skip-functions', '-skip-expansions', '-sources', *sources))
    return {str(pathlib.Path(f['filename']).resolve().relative_to(root / 'lib')):
            lines_of(f['segments']) for f in exported['data'][0]['files']}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('root', type=pathlib.Path)
    parser.add_argument('build', type=pathlib.Path)
    parser.add_argument('targets', nargs='*')
    parser.add_argument('--missing', action='store_true', help='name what was not run')
    parser.add_argument('--lines', type=float, default=0)
    options = parser.parse_intermixed_args()
    root, build = options.root.resolve(), options.build.resolve()

    failed = False
    for target in options.targets or TARGETS:
        if target not in TARGETS:
            print(f'coverage: {target} is not in the table of {pathlib.Path(__file__).name}',
                  file=sys.stderr)
            return 2
        run_of = lines_run(root, build, target)
        rows, missing = [], []
        for name, left_out in TARGETS[target].items():
            source = (root / 'lib' / name).read_text()
            skipped = lines_of_functions(source, left_out) | asserted(source)
            lines = {n: run for n, run in run_of[name].items() if n not in skipped}
            rows.append((name, sum(lines.values()), len(lines)))
            text = source.split('\n')
            missing += (f'  lib/{name}:{n}: {text[n - 1].strip()}'
                        for n, run in lines.items() if not run)
        run, of = sum(r[1] for r in rows), sum(r[2] for r in rows)
        print(f'{percent(run, of):6.1f} % {run:5}/{of:<5} {target}')
        for name, some, all_lines in rows:
            print(f'{percent(some, all_lines):14.1f} % {some:5}/{all_lines:<5} lib/{name}')
        if options.missing and missing:
            print('\n'.join(missing))
        failed = failed or percent(run, of) < options.lines
    if failed:
        print(f'coverage: {options.lines:g} % of the lines of each are the least; '
              '--missing names the others')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
