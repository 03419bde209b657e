#!/usr/bin/env python3
"""Rewrites includes and names of leat 0.1 before the layers (October 2026) in C++ sources; docs/upgrading.md lists them.

    upgrade_names.py [--write | --check] [--facades] PATH...

Without an option, prints what it would change, as a diff. --write changes the files; --check changes nothing and exits
with status 1 if something is left to change. --facades includes leat/LAYER.hpp instead of single headers.

Rewrites only what is certain: names qualified with `leat::`, names that are unlikely in other code, and members of
variables and braces whose type is named in the file. Prints FILE:LINE for each other place that may need a change.
Folders are searched for C++ sources. A file that is not UTF-8 is left alone.
"""

import argparse
import difflib
import pathlib
import re
import sys

SUFFIXES = {'.h', '.hh', '.hpp', '.hxx', '.ipp', '.c++', '.cc', '.cpp', '.cxx'}

# ------------------------------------------------------------------------------------------- the data

# New folder, old folder, headers; old>new where the name of the header has changed.
HEADERS = """
base            codec     bytes
base            core      braced clock error permutation random shuffle_quality
async           core      as_tuple context>task_context scheduler select sleep stop_wait>wait_for_stop task task_group task_id
async           core      task_scope this_task wait>wait_operation wait_limit wait_object>wait_target work_item
async           train     retry
async/dump      core      dump dump_on_request
async/loop      core      asio_scheduler async_run embedded_scheduler runtime stop_on_signal sync_wait
tensor          core      arrow batch_columns>column_batch batch_spec dlpack dtype element_spec ragged_tensor shape
tensor          core      sparse_tensor stack>stacking string_values tensor tensor_tuple
codec           codec     decode_error decode_raw
codec/checkpoint codec    checkpoint_state checkpoint_table
codec/checksum  codec     crc32c epoch_fingerprint
codec/compression codec   compression decode_compressed deflater inflater
codec/csv       codec     csv_decoder
codec/event     codec     event histogram
codec/example   codec     decode_example decode_json_example example_builder example_fields example_parser features
codec/example   codec     sequence_example_parser
codec/tfrecord  codec     tfrecord tfrecord_index
io/backend      io        file_backend
io/file         io        file
io/file         pipeline  match_files
io/index        io        epoch_order indexed_reader indexed_reader_state record_selection tfrecord_file tfrecord_index_file
io/reader       io        corruption fixed_length_reader identity_reader line_reader quarantine_log record_batch
io/reader       io        record_reader tfrecord_reader whole_file_reader whole_files>file_prefetcher
io/stream       io        read_options
io/writer       io        sharded_tfrecord_writer tfrecord_appender tfrecord_writer
queue           pipeline  queue_fullness
queue           sync      basic_queue blocking_face>blocking_operations fifo_queue memory_budget padding_fifo_queue
queue           sync      partial_push>partial_push_error priority_queue queue_base queue_list queue_options queue_registry
queue           sync      queue_statistics random_shuffle_queue size_of_element>element_byte_size tensor_priority_queue
queue           sync      tensor_queue
coordination    sync      coordinator looper queue_run>queue_runner_handle queue_runner queue_runner_def
coordination    sync      queue_runner_registry>queue_runner_resolver runner_collection>queue_runner_collection
input           pipeline  basic_producer batcher element_source input_producer limit_epochs match_filenames_once
input           pipeline  preloaded>in_memory_source queue_reader range_input_producer reader_state slice_input_producer
input           pipeline  tensor_batcher tensor_input_producer
pipeline        pipeline  pipeline read_indexed read_queue
pipeline/element pipeline rows>owned_batch
pipeline/metrics pipeline prometheus_text stage_metrics
pipeline/source pipeline  file_source
pipeline/stage  pipeline  pipeline_options
train/checkpoint train    checkpoint_directory checkpoint_registry directory_lock rank_checkpoints saver saver_options
train/monitored train     checkpoint_saver_hook function_hook logging_hook monitored_session named_values nan_hook
train/monitored train     run_context session_hook step_counter_hook step_timer step_waiter_hook stop_at_step_hook
train/monitored train     summary_saver_hook
train/summary   train     event_reader event_writer pipeline_summary>stage_rates step_rate
train/supervisor train    session session_manager supervisor supervisor_options
sim             sim       allocation_faults choices>decision_source failing_new virtual_scheduler
sim/file_system sim       file_system
sim/world       sim       ledger>delivery_log sweep world
"""
# Headers that were divided: what else the new form of a program includes.
ALSO = {
    'leat/pipeline/queue_fullness.hpp': ['leat/pipeline/metrics/stage_fullness.hpp'],
    'leat/train/pipeline_summary.hpp': ['leat/train/summary/add_fullness.hpp'],
    'leat/sync/queue_runner_registry.hpp': ['leat/coordination/enqueue_operation.hpp'],
}
# A program that includes a queue's own header and calls these includes completion_tokens.hpp as
# well.
COMPLETION_TOKENS = re.compile(r'\basync_(?:push|pop)(?:_many|_up_to)?\s*\(')
# Headers with a facade of their own, and names that show that a program which includes
# leat/leat.hpp needs it.
TENSORFLOW = {'codec/compression/decode_compressed', 'coordination/queue_runner_def', 'coordination/queue_runner_resolver',
              'input/limit_epochs', 'io/reader/identity_reader', 'queue/queue_list', 'train/supervisor/session_manager'}
NOT_IN_LEAT_HPP = {
    'leat/sim.hpp': re.compile(r'\b(?:leat::)?sim::\w'),
    'leat/tensorflow.hpp': re.compile(
        r'\b(decode_compressed|queue_runner_def|queue_runner_re(?:gistry|solver)|limit_epochs|identity_reader|queue_list|session_manager)\b'),
}

# Layer: old name, new name. An `unlikely` name is rewritten wherever it is a whole word, unless the
# file itself declares this name. Other names are rewritten only if leat:: (or sim::) qualifies
# them.
NAMES = {
    'base': [('seed_or_entropy', 'seed_or_random', 'unlikely'),
             ('remainder', 'batch_remainder')],
    'async': [('context', 'task_context'), ('wait', 'wait_operation'),
              ('wait_object', 'wait_target', 'unlikely'),
              ('take_wakeup_back', 'withdraw_wakeup', 'unlikely')],
    'tensor': [('batch_columns', 'column_batch', 'unlikely'), ('row_of', 'unstack_row')],
    'codec': [('event', 'event_record'), ('graph_bytes', 'serialized_graph'),
              ('meta_graph_bytes', 'serialized_meta_graph', 'unlikely'), ('opaque_value', 'unparsed_value'),
              ('inflate_end', 'inflate_status', 'unlikely'),
              ('tfrecord_scan_end', 'tfrecord_scan_status', 'unlikely'),
              ('tfrecord_stamp', 'tfrecord_fingerprint', 'unlikely'),
              ('example_contents', 'decoded_example', 'unlikely'),
              ('needs_compression_sample', 'needs_larger_sample', 'unlikely')],
    'io': [('next_byte', 'at_stream_position'), ('record_place', 'format_record_position', 'unlikely'),
           ('line_place', 'format_line_position', 'unlikely'), ('whole_files', 'file_prefetcher'),
           ('whole_files_options', 'file_prefetcher_options', 'unlikely'), ('whole_file', 'loaded_file'),
           ('without_tfrecord_indexes', 'exclude_tfrecord_indexes', 'unlikely'),
           ('get_tfrecord_stamp', 'get_tfrecord_fingerprint', 'unlikely'),
           ('first_error_ends', 'stop_on_first_error', 'unlikely'),
           ('one_record_a_file', 'is_one_record_per_file', 'unlikely'),
           ('begins_of_ranks', 'rank_begin_positions', 'unlikely'),
           ('in_own_order', 'is_within_rank_order', 'unlikely')],
    'queue': [('blocking_face', 'blocking_operations', 'unlikely'), ('partial_push', 'partial_push_error', 'unlikely'),
              ('size_of_element', 'element_byte_size', 'unlikely'), ('by_priority', 'priority_less'),
              ('awaits_budget', 'waits_for_budget', 'unlikely')],
    'coordination': [('queue_run', 'queue_runner_handle', 'unlikely'),
                     ('runner_collection', 'queue_runner_collection', 'unlikely'),
                     ('queue_runner_registry', 'queue_runner_resolver', 'unlikely'),
                     ('missed_points', 'missed_tick_policy', 'unlikely'),
                     ('first_enqueues', 'wait_for_first_enqueue', 'unlikely')],
    'input': [('batch', 'batcher'), ('shuffle_batch', 'shuffle_batcher'), ('batch_options', 'batcher_options'),
              ('shuffle_batch_options', 'shuffle_batcher_options'), ('tensor_batch', 'tensor_batcher'),
              ('tensor_shuffle_batch', 'tensor_shuffle_batcher', 'unlikely'),
              ('tensor_batch_options', 'tensor_batcher_options', 'unlikely'),
              ('tensor_shuffle_batch_options', 'tensor_shuffle_batcher_options', 'unlikely'),
              ('maybe_element', 'filtered_element'), ('preloaded', 'in_memory_source'),
              ('reader_place', 'reader_position', 'unlikely')],
    'pipeline': [('batches_options', 'batch_stage_options', 'unlikely'),
                 ('shuffle_buffer_options', 'shuffle_stage_options', 'unlikely'),
                 ('map_options', 'map_stage_options'), ('prefetch_options', 'prefetch_stage_options'),
                 ('record_rows', 'owned_record_batch'), ('line_rows', 'owned_line_batch'),
                 ('basic_rows', 'basic_owned_batch'), ('verdict', 'describe_bottleneck'),
                 ('at_work', 'stage_work_timer'), ('waiting', 'stage_wait_timer'),
                 ('add_wait_for_room', 'add_output_wait', 'unlikely'),
                 ('add_wait_for_input', 'add_input_wait', 'unlikely'),
                 ('waited_for_room', 'waited_for_output', 'unlikely'),
                 ('knows_wait_for_room', 'knows_output_wait', 'unlikely'),
                 ('knows_time_at_work', 'knows_work_time', 'unlikely'), ('time_at_work', 'work_time', 'unlikely')],
    'train': [('in_step_with', 'rank_directories', 'unlikely'), ('adopt_listed', 'recover_last_checkpoints', 'unlikely'),
              ('pass_over_whole', 'skip_intact', 'unlikely'), ('event_collector', 'event_accumulator', 'unlikely')],
    'sim': [('sim::choices', 'sim::decision_source'), ('sim::choice', 'sim::decision'),
            ('sim::ledger', 'sim::delivery_log'), ('sim::violation', 'sim::invariant_violation'),
            ('sim::endless', 'sim::step_limit_exceeded'), ('moves_of_time', 'time_advances', 'unlikely'),
            ('watch_scope', 'invariant_scope', 'unlikely')],
}
# Members that what follows or precedes makes certain: rewritten, before the names.
QUALIFIED = [
    (r'\.last(?=\s*=\s*leat::(?:shard_)?remainder::)', '.remainder'),
    (r'\.missed(?=\s*=\s*leat::missed_points::)', '.missed_ticks'),
    (r'(\.interleave\s*=[^,{}]*,\s*)\.block(?=\s*=)', r'\1.block_length'),
    (r'\bleat::name(?=\()', 'leat::to_string', 'tensor', '`name(dtype)`', '`to_string(dtype)`'),
    (r'\bwaiting::for_room\b', 'waiting::for_output', 'pipeline', '`waiting::for_room`',
     '`stage_wait_timer::for_output`'),
    (r'\bextra_entries::refuse\b', 'extra_entries::reject', 'train', '`extra_entries::refuse`', '`extra_entries::reject`'),
    (r'\ballocation_faults::spared\b', 'allocation_faults::without_faults', 'sim', '`allocation_faults::spared`',
     '`allocation_faults::without_faults`'),
    (r'\ballocation_faults::asked\b', 'allocation_faults::with_faults', 'sim', '`allocation_faults::asked`',
     '`allocation_faults::with_faults`'),
    (r'\bindexed_reader_state::left_of\b', 'indexed_reader_state::reshard', 'io', '`indexed_reader_state::left_of`',
     '`indexed_reader_state::reshard`'),
]
# Members with common names, by old type, with what shows in a file that it may use them. Rewritten
# for variables and braces of the type; reported otherwise.
MEMBERS = [
    ('base', 'random_engine', r'random_engine', {'below()': 'uniform_below()'}),
    ('base', 'permutation', r'permutation', {'place_of()': 'index_of()'}),
    ('async', 'scheduler', r'scheduler', {'end_turn()': 'yield_turn()', 'spend()': 'consume_budget()'}),
    ('async', 'process_identity', r'process_identity|identity\(\)', {'process': 'process_id'}),
    ('async', 'task_scope', r'task_scope', {'hold()': 'add_hold()', 'release()': 'remove_hold()'}),
    ('async', 'context', r'leat::context', {'home()': 'get_scheduler()'}),
    ('async', 'wait', r'leat::wait\b', {'home()': 'get_scheduler()', 'wait_in()': 'begin_wait()',
                                        'stop_waiting()': 'abandon_wait()'}),
    ('tensor', 'tensor', r'leat::tensor\b', {'size()': 'byte_size()', 'shared()': 'is_shared()'}),
    ('tensor', 'tensor_tuple', r'tensor_tuple', {'size()': 'byte_size()'}),
    ('tensor', 'batch_columns', r'batch_columns', {'size()': 'byte_size()'}),
    ('tensor', 'shape', r'leat::shape\b', {'fully_defined()': 'is_fully_defined()', 'compatible()': 'is_compatible_with()'}),
    ('tensor', 'element_spec', r'element_spec', {'compatible()': 'is_compatible_with()'}),
    ('codec', 'inflate_result', r'inflate_result|inflater', {'end': 'status'}),
    ('codec', 'tfrecord_scan', r'scan_tfrecords?', {'end': 'status'}),
    ('codec', 'tfrecord_index', r'tfrecord_index\b', {'stamp()': 'fingerprint()'}),
    ('codec', 'decode_error', r'decode_error', {'place()': 'position()', 'has_place()': 'has_position()',
                                                'of()': 'with_record_count()'}),
    ('io', 'file_request', r'file_request', {'home': 'completion_scheduler', 'scratch': 'backend_data',
                                             'submit_again()': 'resubmit()'}),
    ('io', 'file_backend', r'file_backend', {'try_now()': 'try_complete()', 'run_now()': 'execute_blocking()',
                                             'process_name()': 'owner_text()', 'gives_descriptors()': 'uses_descriptors()'}),
    ('io', 'tfrecord_appender', r'tfrecord_appender', {'bytes_before()': 'original_size()',
                                                       'records_before()': 'original_record_count()'}),
    ('io', 'whole_files', r'whole_files', {'has_room()': 'has_capacity()'}),
    ('io', 'shard_options', r'shard_options|indexed_reader_options', {'last': 'remainder'}),
    ('io', 'record_selection', r'record_selection|indexed_reader', {'ordinal()': 'global_index()'}),
    ('io', 'indexed_reader_state', r'indexed_reader_state', {'places()': 'position_count()'}),
    ('io', 'epoch_order', r'epoch_order', {'left_from()': 'remaining_from()', 'places()': 'position_count()'}),
    ('queue', 'queue_statistics', r'queue_statistics|statistics\(\)', {'min_left': 'min_after_dequeue'}),
    ('coordination', 'queue_runner', r'queue_runner\b', {'last_run()': 'last_start()', 'running()': 'running_producers()'}),
    ('coordination', 'queue_run', r'queue_run\b', {'running()': 'running_producers()'}),
    ('coordination', 'looper_options', r'looper', {'missed': 'missed_ticks'}),
    ('input', 'batch', r'\bbatch<', {'last_run()': 'last_start()'}),
    ('input', 'shuffle_batch', r'\bshuffle_batch<', {'last_run()': 'last_start()'}),
    ('input', 'batch_options', r'\bbatch_options|leat::batch<', {'last': 'remainder'}),
    ('input', 'shuffle_batch_options', r'shuffle_batch_options|leat::shuffle_batch<', {'last': 'remainder'}),
    ('input', 'tensor_batch_options', r'tensor_batch', {'last': 'remainder'}),
    ('input', 'tensor_shuffle_batch_options', r'tensor_shuffle_batch', {'last': 'remainder'}),
    ('pipeline', 'batches_options', r'batches_options', {'last': 'remainder'}),
    ('pipeline', 'prefetch_options', r'prefetch', {'runs': 'blocks'}),
    ('pipeline', 'file_source', r'file_source|read_(?:files|tfrecords|lines)', {'block': 'block_length'}),
    ('train', 'saver_options', r'saver_options|saver::open', {'on_refused': 'on_skipped'}),
    ('train', 'rank_checkpoint_options', r'rank_checkpoint', {'on_refused': 'on_skipped'}),
    ('train', 'supervisor_options', r'supervisor', {'save_model': 'save_model_interval',
                                                    'save_summaries': 'save_summaries_interval'}),
    ('train', 'session_manager::recovered', r'session_manager', {'why_not': 'not_ready_reason'}),
    ('train', 'session_hook', r'_hook', {'step_of()': 'require_step()'}),
    ('train', 'summary_saver_hook', r'summary_saver_hook', {'scalars_of()': 'to_summary()'}),
    ('sim', 'sim::ledger', r'sim::ledger', {'offers()': 'record_push()', 'gets()': 'record_pop()',
                                            'refused()': 'record_rejected()', 'settle()': 'check_complete()'}),
    ('sim', 'sim::world', r'sim::', {'watch()': 'add_invariants()', 'watch_frames()': 'check_frames()',
                                     'unwatch()': 'clear_invariants()'}),
    ('sim', 'sim::world_options', r'sim::', {'pre_emption': 'preemption'}),
]
# Functions of which the new name depends on their arguments, or that are gone: reported.
LOOK = [
    ('base', r'\bLEAT_ASSERT\b|\bleat::assertion_failed\b', '`LEAT_ASSERT`, `assertion_failed`', 'private: use your own assertions'),
    ('tensor', r'\bleat::merge\b', '`merge`', '`intersect_shapes` of shapes, `intersect_specs` of specs'),
    ('tensor', r'\bleat::relax\b', '`relax`', '`generalize_shapes` of shapes, `generalize_specs` of specs'),
    ('codec', r'\bleat::(?:split_lines|last_line)\b', '`split_lines`, `last_line`',
     'private: `line_reader` reads the lines of a file'),
    ('pipeline', r'\bqueue_fullness\(\s*\*?\w*(?:stage|metrics)\w*', '`queue_fullness(stage)`', '`stage_fullness(stage)`'),
    ('coordination', r'\bleat::name_in_scope\b', '`name_in_scope`', 'private'),
    ('pipeline', r'\.world_size\b(?=\s*=)',
     '`rank` and `world_size` of `file_source` and of `shard_options`',
     '`.world = {.rank = 2, .world_size = 8}`, of `file_source` and of `indexed_reader_options`'),
    ('async', r'(?:\.|->)set_files\(', '`scheduler::files()`, `set_files()`',
     '`find_service<file_backend>()`, `set_service()`'),
]

# ------------------------------------------------------------------------------------------ includes


def header_map():
    """Old path: new path, both as in an include."""
    paths = {}
    for line in HEADERS.split('\n'):
        if not line.strip():
            continue
        new_folder, old_folder, *names = line.split()
        for name in names:
            old, _, new = name.partition('>')
            paths[f'leat/{old_folder}/{old}.hpp'] = f'leat/{new_folder}/{new or old}.hpp'
    return paths


PATHS = header_map()
INCLUDE = re.compile(r'(\s*#\s*include\s*)([<"])(leat/[\w/.]+)([>"])(.*)', re.S)


def facade(path):
    name = path.removeprefix('leat/').removesuffix('.hpp')
    if name in TENSORFLOW:
        return 'leat/tensorflow.hpp'
    if '/' not in name or name == 'sim/failing_new':
        return path
    return f'leat/{name.split("/")[0]}.hpp'


def upgrade_includes(text, facades, report):
    """The lines of the text with new includes, each with the number of the old line that it was."""
    lines, seen = [], set()
    for number, line in enumerate(re.findall(r'[^\n]*\n|[^\n]+', text), 1):
        match = INCLUDE.fullmatch(line)
        if not match:
            lines.append((number, line))
            continue
        before, opening, path, closing, rest = match.groups()
        targets = [PATHS.get(path, path), *ALSO.get(path, [])]
        tokens = 'leat/queue/completion_tokens.hpp'
        if tokens not in text and COMPLETION_TOKENS.search(text) and any(t.startswith('leat/queue/') for t in targets):
            targets.append(tokens)
        if path == 'leat/leat.hpp':
            targets += [header for header, used in NOT_IN_LEAT_HPP.items() if used.search(text)]
        elif path not in PATHS and re.match(r'leat/(core|sync)/|leat/codec/line_splitter\.hpp|leat/\w+/detail/', path):
            report(number, f'{path} is not a public header')
        if facades:
            targets = [facade(target) for target in targets]
        for target in targets:
            if target not in seen or target == path:
                lines.append((number, f'{before}{opening}{target}{closing}{rest}'))
            seen.add(target)
    return lines


# --------------------------------------------------------------------------------------------- names

LITERAL = re.compile(r'R"([^\s()\\]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.S)
KEYWORDS = {'return', 'co_return', 'co_await', 'co_yield', 'throw', 'new', 'else', 'case', 'goto', 'delete', 'typename'}


def declares(text, name):
    """Whether the file has a type, alias or namespace of its own with this name."""
    return re.search(rf'\b(class|struct|union|enum|namespace|concept|using)\s+{name}\b(?!::)', text)


def type_pattern(text, old, new):
    """How a type is written, before or after its name was upgraded; without leat:: only where that is made visible."""
    names = rf'(?:{old}|{new})'
    visible = re.search(rf'\busing namespace leat\b|\busing leat::{names}\s*;', text)
    return rf'(?<![\w:])(?:leat::){"?" if visible else ""}{names}(?:<[^;{{}}()]*>)?'


def variables_of(text, kind):
    """Variables of a type, all declarations of which in the file are of that type."""
    names = set(re.findall(rf'{kind}\s*[&*]*\s+(\w+)\s*(?=[;={{(,):])', text))
    sure = set()
    for name in names - KEYWORDS:
        others = re.findall(rf'([\w>]+)\s*[&*]*\s+{name}\s*(?=[;={{(,):\[])', text)
        ours = re.findall(rf'{kind}\s*[&*]*\s+{name}\s*(?=[;={{(,):])', text)
        if len([o for o in others if o not in KEYWORDS]) <= len(ours):
            sure.add(name)
    return sure


def braces_of(text, old, kind):
    """Where the braces of values of a type begin and end; of x_options also those that an x is made of."""
    values = rf'{kind}(?:\s+\w+)?\s*(?:=\s*)?'
    if old.endswith('_options'):
        values = rf'(?:{values}|\bleat::{old.removesuffix("_options")}(?:\s+\w+)?\s*[({{]\s*)'
    for match in re.finditer(rf'{values}{{', text):
        depth, at = 1, match.end()
        while depth and at < len(text):
            depth += (text[at] == '{') - (text[at] == '}')
            at += 1
        yield match.end(), at


def upgrade_members(text, renamed):
    for _, old, _, members in MEMBERS:
        kind = type_pattern(text, old, renamed.get(old, old))
        variables = variables_of(text, kind)
        for old_member, new_member in members.items():
            is_function = old_member.endswith('()')
            name, to = old_member.removesuffix('()'), new_member.removesuffix('()')
            after = r'(?=\s*\()' if is_function else r'\b(?!\s*\()'
            for variable in variables:
                text = re.sub(rf'(?<![\w.>:])({variable}\s*(?:\.|->)\s*){name}{after}', rf'\g<1>{to}', text)
            if is_function:
                continue
            for begin, end in reversed(list(braces_of(text, old, kind))):
                inside, depth, at = text[begin:end], 0, 0
                pieces = re.split(r'([{}])', inside)
                for i, piece in enumerate(pieces):
                    depth += (piece == '{') - (piece == '}')
                    if depth == 0:
                        pieces[i] = re.sub(rf'(?<![\w)\]])\.{name}(?=\s*[={{])', f'.{to}', piece)
                text = text[:begin] + ''.join(pieces) + text[end:]
    return text


def upgrade_names(text):
    """The text with new names; no line is added or removed."""
    literals = []

    def hide(match):
        literals.append(match[0])
        return f'"\x00{len(literals) - 1}\x00"'

    hidden = LITERAL.sub(hide, text)
    renamed = {}
    for pattern, to, *_ in QUALIFIED:
        hidden = re.sub(pattern, to, hidden)
    for layer in NAMES.values():
        for old, new, *kind in layer:
            renamed[old] = new
            namespace = '' if old.startswith('sim::') else 'leat::'
            hidden = re.sub(rf'\b{namespace}{old}\b', namespace + new, hidden)
            if kind and not declares(hidden, old):
                hidden = re.sub(rf'\b{old}\b', new, hidden)
    hidden = upgrade_members(hidden, renamed)
    return re.sub('"\x00(\\d+)\x00"', lambda match: literals[int(match[1])], hidden)


def code_lines(text):
    """The lines without comments and contents of literals."""
    def blank(match):
        return re.sub(r'[^\n]', ' ', match[0])
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S).split('\n')


def places_to_look_at(before, after):
    """Number and text of the lines of the upgraded text that may need a change."""
    lines = code_lines(after)
    visible = 'using namespace leat' in before
    for layer in NAMES.values():
        for old, new, *kind in layer:
            name = old.removeprefix('sim::')
            if kind or not (visible or re.search(rf'\busing (?:leat::)?{old}\s*;', before)):
                continue
            for number, line in enumerate(lines, 1):
                if re.search(rf'(?<![\w.>]){name}\b', line) and not line.lstrip().startswith('#'):
                    yield number, f'{name}: if it is that of leat, it is {new} now'
    owners = {}
    for _, old, mention, members in MEMBERS:
        if re.search(mention, before):
            for renaming in members.items():
                owners.setdefault(renaming, []).append(old)
    for (old_member, new_member), types in owners.items():
        name = old_member.removesuffix('()')
        after_name = r'\s*\(' if old_member.endswith('()') else r'\b(?!\s*\()'
        for number, line in enumerate(lines, 1):
            if re.search(rf'(?:\.|->|\b(?:{"|".join(types)})::){name}{after_name}', line):
                yield number, f'{old_member}: of {" or ".join(types)}, it is {new_member} now'
    for _, pattern, old, new in LOOK:
        for number, line in enumerate(lines, 1):
            if re.search(pattern, line):
                yield number, f'{old.replace("`", "")} became {new.replace("`", "")}'


def upgrade(text, facades=False):
    """The new text, and the places to look at: number of the old line, number of the new one, text."""
    if 'leat' not in text:
        return text, []
    found = []
    lines = upgrade_includes(text, facades, lambda number, what: found.append((number, number, what)))
    after = upgrade_names(''.join(line for _, line in lines))
    for number, what in places_to_look_at(text, after):
        found.append((lines[min(number, len(lines)) - 1][0], number, what))
    return after, sorted(set(found))


# ------------------------------------------------------------------------------------------ the files


def sources(paths):
    for path in map(pathlib.Path, paths):
        if path.is_dir():
            yield from sorted(f for f in path.rglob('*') if f.suffix in SUFFIXES and f.is_file()
                              and not any(part.startswith('.') for part in f.relative_to(path).parts))
        else:
            yield path


def read_text(file):
    """The text with its ends of lines as they are; None if it is not UTF-8."""
    try:
        return file.read_bytes().decode('utf-8')
    except UnicodeDecodeError:
        return None


def main():
    parser = argparse.ArgumentParser(description='Rewrites includes and names of earlier revisions of leat.')
    how = parser.add_mutually_exclusive_group()
    how.add_argument('--write', action='store_true', help='change the files')
    how.add_argument('--check', action='store_true', help='exit with status 1 if something is left to change')
    parser.add_argument('--facades', action='store_true', help='include leat/LAYER.hpp instead of single headers')
    parser.add_argument('paths', nargs='+', metavar='PATH')
    options = parser.parse_args()
    changed = 0
    for file in sources(options.paths):
        text = read_text(file)
        if text is None:
            print(f'{file}: is not UTF-8 and is left alone')
            continue
        after, places = upgrade(text, options.facades)
        if after != text:
            changed += 1
            if options.write:
                file.write_bytes(after.encode('utf-8'))
            elif options.check:
                print(f'{file}: has old includes or names')
            else:
                sys.stdout.writelines(difflib.unified_diff(text.splitlines(True), after.splitlines(True),
                                                           str(file), str(file)))
        for old_line, new_line, what in places:
            print(f'{file}:{new_line if options.write else old_line}: {what}')
    return 1 if options.check and changed else 0


if __name__ == '__main__':
    sys.exit(main())
