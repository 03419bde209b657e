// What a training saves and tells while the n-th allocation fails: it ends with that error,
// everything closed. The next session goes on from a whole checkpoint.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include <catch2/catch.hpp>

#include "faults/failing_allocations.hpp"
#include "leat/core/sync_wait.hpp"
#include "leat/train/event_reader.hpp"
#include "leat/train/event_writer.hpp"
#include "leat/train/monitored_session.hpp"
#include "support/effort.hpp"
#include "support/temp_dir.hpp"

namespace training_memory_test {

using leat::task;

constexpr std::int64_t steps = 2;

// Steps in one session, each saved; gives the last.
task<std::int64_t> train(std::string directory) {
  std::int64_t step = 0;
  std::int64_t sum = 0;
  leat::checkpoint_registry state("sum");
  state.add("global_step", step);
  state.add("sum", sum);
  leat::monitored_session_options o;
  o.supervised.logdir = directory;
  o.supervised.state = &state;
  o.save_checkpoint_steps = 1;
  leat::monitored_session s(o);
  const std::function<task<>()> add = [&]() -> task<> {
    sum += ++step;
    co_return;
  };
  const std::function<task<>()> body = [&]() -> task<> {
    for (std::int64_t i = 0; i < steps; ++i) co_await s.run(add);
  };
  co_await s.managed(body);
  if (sum != step * (step + 1) / 2) throw leat::failure(leat::errc::data_loss, "half a step");
  co_return step;
}

TEST_CASE("monitored_session: without memory it ends, and the next one goes on", "[faults]") {
  int failed = 0;
  bool reached = true;
  constexpr int step_of_n = leat_test::slow_build ? 25 : 5;
  for (int n = 0; reached; n += step_of_n) {  // each syncs its files: all n take 15 seconds
    INFO("allocation " << n);
    const temp_dir dir;
    const std::ptrdiff_t before = leat_test::alive;
    leat_test::until_failure = n;
    const auto run = [&] { static_cast<void>(leat::sync_wait(train(dir.path()))); };
    if (leat_test::run_once(run, reached) == leat_test::end::out_of_memory) ++failed;
    CHECK(leat_test::alive - before <= 64);
    const std::int64_t step = leat::sync_wait(train(dir.path()));  // what was saved is whole
    CHECK(step >= steps);
    CHECK(step <= 2 * steps);
    REQUIRE(n < 100'000);
  }
  CHECK(failed > 10);
}

task<> write_events(std::string directory) {
  const auto body = [](leat::event_writer& writer) -> task<> {
    for (const std::int64_t step : {1, 2}) co_await writer.add_scalar("loss", 0.5, step);
  };
  co_await leat::with_event_writer(std::move(directory), body);
}

// Of the writer above; a file is made with the first one.
std::size_t events_in(const std::string& directory) {
  if (std::filesystem::is_empty(directory)) return 0;
  const leat::event_run run = leat::sync_wait(leat::read_events(directory));
  const auto loss = run.series.scalars.find("loss");
  return loss == run.series.scalars.end() ? 0 : loss->second.size();
}

TEST_CASE("event_writer: without memory it is closed on every way out", "[faults]") {
  int failed = 0;
  bool reached = true;
  for (int n = 0; reached; ++n) {
    INFO("allocation " << n);
    const temp_dir dir;
    const std::ptrdiff_t before = leat_test::alive;
    leat_test::until_failure = n;
    // In a thread of its own, which has no memory of earlier frames.
    const auto run = [&] {
      std::exception_ptr error;
      std::thread([&] {
        try {
          leat::sync_wait(write_events(dir.path()));
        } catch (...) {
          error = std::current_exception();
        }
      }).join();
      if (error) std::rethrow_exception(error);
    };
    const bool whole = leat_test::run_once(run, reached) != leat_test::end::out_of_memory;
    if (!whole) ++failed;
    CHECK(leat_test::alive - before <= 64);
    const std::size_t found = events_in(dir.path());
    CHECK((whole ? found == 2 : found <= 2));
    REQUIRE(n < 100'000);
  }
  CHECK(failed > 10);
}

}  // namespace training_memory_test
