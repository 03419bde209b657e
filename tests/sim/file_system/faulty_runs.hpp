#pragma once

#include <initializer_list>

#include "leat/io/reader/line_reader.hpp"
#include "leat/sim.hpp"
#include "support/insist.hpp"
#include "support/leat_test.hpp"
#include "support/records/record_files.hpp"
#include "support/records/texts.hpp"

namespace leat_test {

/// Faults after which the operation is repeated or continued, so they change no result.
inline constexpr leat::sim::fault_rates passing{
    .short_transfer = 0.3, .interrupted = 0.1, .again = 0.1, .cancelled_late = 0.1, .slow = 0.05};

/// Returns texts that end with their numbers.
inline texts numbered(const std::string& what, int count) {
  texts all;
  for (int i = 0; i < count; ++i) all.push_back(what + std::to_string(i));
  return all;
}

/// Returns texts of which only the beginning can be compressed.
inline texts noisy(const std::string& what, int count, std::size_t size = 30) {
  texts all;
  for (int i = 0; i < count; ++i) {
    all.push_back(what + noise(size, static_cast<std::uint64_t>(i)));
  }
  return all;
}

/// Crashes and restarts the machine.
inline void crash_and_restart(leat::sim::world& w) {
  w.files().crash();
  w.files().restart();
}

/// The seeds from `first` up to but not including `end`.
struct seed_range {
  std::uint64_t first = 7;
  std::uint64_t end = 8;
};

/// Calls `run` in a world with a fault at the n-th operation, for each of the faults and every n up
/// to the number of operations. Calls `check` with the world and true if `run` threw no failure.
template <class Run, class Check>
void for_each_operation(std::initializer_list<leat::sim::fault> faults, seed_range seeds, Run run,
                        Check check) {
  for (const leat::sim::fault f : faults) {
    bool reached = true;
    for (std::uint64_t n = 1; reached; ++n) {
      for (std::uint64_t seed = seeds.first; seed < seeds.end; ++seed) {
        CAPTURE(static_cast<int>(f), n, seed);
        leat::sim::world w(seed, {.files = {.plan = leat::sim::planned_fault{n, f}}});
        const bool succeeded = succeeds([&] { run(w); });
        reached = w.files().calls() >= n;
        check(w, succeeded);
      }
    }
  }
}

/// Opens a writer, writes all records and closes it. Repeats a call that fails, except a write,
/// whose record is accepted. Counts the failures.
template <class Writer, class Open>
leat::task<> write_and_insist(Open open, texts records, int& failures) {
  std::optional<Writer> writer;
  const auto open_it = [&]() -> leat::task<> { writer.emplace(co_await open()); };
  co_await retry_until_success(open_it, failures);
  for (const std::string& r : records) {
    if (co_await throws<leat::failure>(writer->write(leat::as_bytes(r)))) ++failures;
  }
  co_await retry_until_success([&] { return writer->close(); }, failures);
}

/// Reads the rest of a file.
inline leat::task<> read_on(leat::line_reader& reader, texts& out) {
  leat::line_batch batch;
  while (co_await reader.read_batch(batch)) out.insert(out.end(), batch.begin(), batch.end());
}

/// Returns a random number below `limit`.
inline std::size_t below(leat::sim::world& w, std::uint64_t limit) {
  return static_cast<std::size_t>(w.random().uniform_below(limit));
}

/// Returns a time of less than `limit` times 100 us.
inline leat::duration some_time(leat::sim::world& w, std::uint64_t limit) {
  return std::chrono::microseconds(100 * w.random().uniform_below(limit));
}

/// Runs a task and stops it after `time`.
inline leat::task<> run_and_stop(leat::task<> t, leat::duration time) {
  leat::task_group group;
  group.spawn(std::move(t));
  co_await leat::sleep_for(time);
  group.request_stop();
  co_await group.join();
}

}  // namespace leat_test
