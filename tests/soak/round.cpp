#include "soak/round.hpp"

#include <vector>

#include "leat/async/task_group.hpp"
#include "leat/io.hpp"
#include "soak/world.hpp"

namespace soak {
namespace {

using leat::task;

task<> set_backend(world& w, std::size_t index) {
  leat::scheduler& s = w.rt.get_scheduler(index);
  leat::file_backend& real = leat::get_file_backend(s, w.backend);
  w.backends[index] =
      std::make_unique<rough_backend>(real, w.rates, w.random.seed() + index, w.broken);
  s.set_service<leat::file_backend>(w.backends[index].get());
  co_return;
}

void check_records(world& w, std::uint64_t epochs) {
  for (const input_file& f : w.files) {
    for (std::uint64_t i = 0; i < f.count; ++i) {
      const std::uint64_t number = f.first + i;
      const std::uint64_t in = w.records.in(number);
      const std::string what = f.path + ", record " + std::to_string(i) + ": ";
      w.require(in == w.records.out(number), what + std::to_string(in) + " times in, " +
                                                 std::to_string(w.records.out(number)) + " out");
      const std::uint64_t expected = i < f.good ? epochs : 0;
      w.require(w.incomplete ? in <= expected : in == expected,
                what + std::to_string(in) + " times instead of " + std::to_string(expected));
    }
  }
}

// Writes records despite injected errors. An error loses no record, and close() is repeated.
task<> write_shard(world& w, std::string path, std::uint64_t first, std::uint64_t count) {
  auto writer = co_await leat::tfrecord_writer::open(
      path, {.buffer_size = static_cast<std::size_t>(1 + w.random.uniform_below(5000))});
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string text = text_of(first + i);
    try {
      co_await writer.write(leat::as_bytes(text));
    } catch (const leat::failure& e) {
      w.require(w.broken.explain(e.what()), std::string("unexpected error: ") + e.what());
    }
  }
  for (bool closed = false; !closed;) {
    try {
      co_await writer.close();
      closed = true;
    } catch (const leat::failure& e) {
      w.require(w.broken.explain(e.what()), std::string("unexpected error: ") + e.what());
    }
  }
}

task<> run(world& w, std::uint64_t epochs) {
  w.backends.resize(w.rt.size());
  leat::task_group setting("setting");
  for (std::size_t i = 0; i < w.rt.size(); ++i) {
    setting.spawn_on(w.rt.get_scheduler(i), set_backend(w, i), "backend");
  }
  co_await setting.join();
  for (const input_file& f : w.files) {  // rewrites some with a tfrecord_writer
    if (f.what != input_file::kind::records || f.good < f.count || w.random.uniform_below(2) == 0)
      continue;
    co_await write_shard(w, f.path, f.first, f.count);
  }
  if (w.random.uniform_below(2) == 0) {
    co_await run_batchers(w, epochs);
  } else {
    co_await run_declared(w, epochs);
  }
}

}  // namespace

counts& counts::operator+=(const counts& other) noexcept {
  records += other.records;
  stopped += other.stopped;
  failed += other.failed;
  damaged += other.damaged;
  injected += other.injected;
  hard += other.hard;
  return *this;
}

counts run_round(const round_options& options) {
  world w(options);
  const std::uint64_t epochs = 1 + w.random.uniform_below(3);
  w.rt.block_on(run(w, epochs));
  check_records(w, epochs);
  w.check();
  counts c;
  for (std::uint64_t i = 0; i < w.records.size(); ++i) c.records += w.records.out(i);
  for (const auto& b : w.backends) c.injected += b->faults();
  c.damaged = w.damaged;
  c.hard = w.broken.count();
  if (w.incomplete) ++(c.hard > 0 ? c.failed : c.stopped);
  return c;
}

}  // namespace soak
