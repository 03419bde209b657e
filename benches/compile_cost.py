#!/usr/bin/env python3
"""Measures the CPU time, user and system, of `g++ -O2 -c` for files that include leat or a peer. The compilations are
interleaved, and the table shows medians and their ratios to the program with Asio's channel.

    compile_cost.py [--runs N] [--compiler g++] [--only REGEX]
"""

import argparse
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile

PROJECT = pathlib.Path(__file__).resolve().parent.parent
ASIO = ['-DASIO_STANDALONE', '-DASIO_HAS_CO_AWAIT=1', '-DASIO_HAS_STD_COROUTINE=1']
FOUR = ['leat/async/loop/block_on.hpp', 'leat/async/task.hpp', 'leat/async/task_group.hpp', 'leat/queue/fifo_queue.hpp']
FACADES = ['base', 'tensor', 'async', 'codec', 'queue', 'coordination', 'io', 'input', 'pipeline', 'train', 'sim']
ALL_OF_ASIO = ['asio.hpp', 'asio/experimental/concurrent_channel.hpp']
ASIO_CHANNEL = 'program with asio.hpp and its channel'
PARTS_OF_ASIO = ['asio/awaitable.hpp', 'asio/co_spawn.hpp', 'asio/detached.hpp', 'asio/experimental/concurrent_channel.hpp',
                 'asio/io_context.hpp', 'asio/use_awaitable.hpp']

# The producer and the consumer of examples/queue.cpp.
ASIO_PROGRAM = """
using queue = asio::experimental::concurrent_channel<void(std::error_code, std::string)>;

asio::awaitable<void> produce(queue& lines) {
  for (int i = 1; i <= 3; ++i) {
    co_await lines.async_send({}, "line " + std::to_string(i), asio::use_awaitable);
  }
  lines.close();
}

asio::awaitable<void> consume(queue& lines) {
  for (;;) {
    const std::string line = co_await lines.async_receive(asio::use_awaitable);
    std::puts(line.c_str());
  }
}

int main() {
  asio::io_context io(1);
  queue lines(io, 2);
  asio::co_spawn(io, produce(lines), asio::detached);
  asio::co_spawn(io, consume(lines), asio::detached);
  io.run();
}
"""
# Declares `batches`, from records of files.
LIBRARY_ELEMENTS = """
using batch_type = leat::owned_record_batch;

double loss_of(const batch_type& batch) {
  double loss = 0;
  for (const leat::byte_view record : batch) loss += static_cast<double>(record.size());
  return loss;
}

auto declare(std::string shards) {
  return leat::read_files<leat::tfrecord_reader>({.files = {shards}, .shuffle = true, .readers = 2})
      .shuffle({.capacity = 10'000, .seed = 1})
      .batch({.batch_size = 128})
      .prefetch(2);
}
"""
OWN_ELEMENTS = """
struct sample {
  float length;
  bool label;
};
using batch_type = std::vector<sample>;

sample parse(leat::byte_view record) {
  return {static_cast<float>(record.size()), record.size() % 2 == 0};
}

double loss_of(const batch_type& batch) {
  double loss = 0;
  for (const sample& s : batch) loss += static_cast<double>(s.length);
  return loss;
}

auto declare(std::string shards) {
  return leat::read_files<leat::tfrecord_reader>({.files = {shards}, .shuffle = true, .readers = 2})
      .shuffle({.capacity = 10'000, .seed = 1})
      .map("parse", parse, {.workers = 2})
      .batch({.batch_size = 128})
      .prefetch(2);
}
"""
# The rest of a supervised program.
SUPERVISED_PROGRAM = """
leat::task<> train(std::string shards, std::string logdir) {
  auto batches = declare(shards);
  std::int64_t step = 0;
  double weight = 0;
  leat::checkpoint_registry state("model");
  state.add("global_step", step);
  state.add("weight", weight);
  state.add("input", batches);
  leat::supervisor sv({.logdir = logdir, .state = &state, .stages = batches.stages()});
  const leat::stop_on_signal guard(sv);
  const auto body = [&]() -> leat::task<> {
    co_await batches.for_each([&](batch_type batch) -> leat::task<> {
      weight += loss_of(batch);
      if (++step % 100 == 0)
        co_await sv.summary_computed(leat::summary().add_scalar("weight", weight));
    });
  };
  co_await sv.managed(body);
  std::printf("step %lld\\n", static_cast<long long>(step));
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  return leat::run(train(argv[1], argv[2]), {.signals = {}});
}
"""
FIBER_PROGRAM = """
int main() {
  boost::fibers::buffered_channel<std::string> lines(4);
  boost::fibers::fiber producer([&] {
    for (int i = 1; i <= 3; ++i) lines.push("line " + std::to_string(i));
    lines.close();
  });
  boost::fibers::fiber consumer([&] {
    std::string line;
    while (lines.pop(line) == boost::fibers::channel_op_status::success) std::puts(line.c_str());
  });
  producer.join();
  consumer.join();
}
"""


def program(headers, body=''):
    includes = ['cstdint', 'cstdio', 'string', 'vector'] if body else []
    return ''.join(f'#include <{header}>\n' for header in [*includes, *headers]) + body


def subjects():
    example = (PROJECT / 'examples/queue.cpp').read_text()
    example = re.sub(r'^(#include .*|// \[.*\])\n', '', example, flags=re.MULTILINE)
    yield 'program with leat/leat.hpp', program(['leat/leat.hpp'], example)
    yield ASIO_CHANNEL, program(ALL_OF_ASIO, ASIO_PROGRAM)
    yield 'program with six headers of Asio', program(PARTS_OF_ASIO, ASIO_PROGRAM)
    yield 'program with four headers of leat', program(FOUR, example.replace('return leat::run(', 'leat::block_on('))
    yield 'program with async.hpp and queue.hpp', program(['leat/async.hpp', 'leat/queue.hpp'], example)
    yield 'supervised program, elements of leat', program(['leat/leat.hpp'], LIBRARY_ELEMENTS + SUPERVISED_PROGRAM)
    yield 'supervised program, elements of its own', program(['leat/leat.hpp'], OWN_ELEMENTS + SUPERVISED_PROGRAM)
    yield 'lib/pipeline/plan/build_pipeline.cpp', (PROJECT / 'lib/pipeline/plan/build_pipeline.cpp').read_text()
    yield 'program with Boost.Fiber', program(['boost/fiber/all.hpp'], FIBER_PROGRAM)
    yield 'leat/leat.hpp', program(['leat/leat.hpp'])
    for layer in FACADES:
        yield f'leat/{layer}.hpp', program([f'leat/{layer}.hpp'])
    for header in [*FOUR, 'leat/coordination/coordinator.hpp', 'leat/queue/completion_tokens.hpp']:
        yield header, program([header])


def cpu_seconds(compiler, source):
    """Returns the CPU time of one compilation, or None if it fails because a peer is not installed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [compiler, '-std=c++20', '-O2', '-c', '-w', *ASIO, f'-I{PROJECT / "include"}',
               f'-I{PROJECT / "lib"}', '-o', '/dev/null', str(source)]
    if subprocess.run(command, stderr=subprocess.DEVNULL).returncode != 0:
        return None
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--runs', type=int, default=5, help='compilations of each file (default: 5)')
    parser.add_argument('--compiler', default='g++', help='default: g++')
    parser.add_argument('--only', default='', metavar='REGEX', help='compile only the matching files')
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        times, sources = {}, {}
        for number, (name, text) in enumerate(subjects()):
            if re.search(arguments.only, name):
                sources[name] = pathlib.Path(folder, f'{number}.cpp')
                sources[name].write_text(text)
                times[name] = []
        for _ in range(arguments.runs):
            for name, source in sources.items():
                seconds = cpu_seconds(arguments.compiler, source)
                if seconds is not None:
                    times[name].append(seconds)
    medians = {name: statistics.median(each) for name, each in times.items() if each}
    channel = medians.get(ASIO_CHANNEL)
    print(f'{"":44}{"seconds":>8}{"/ Asio channel":>16}')
    for name in times:
        if name not in medians:
            print(f'{name:44}{"not built":>9}')
        else:
            ratio = f'{medians[name] / channel:16.2f}' if channel else ''
            print(f'{name:44}{medians[name]:8.2f}{ratio}')
    return 0 if medians else 1


if __name__ == '__main__':
    sys.exit(main())
