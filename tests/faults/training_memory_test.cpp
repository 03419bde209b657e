// Trains, saves and reports while the n-th allocation fails. The training ends with that error and
// closes everything. The next session resumes from an intact checkpoint.

#include <exception>
#include <filesystem>
#include <functional>
#include <thread>

#include "faults/failing_allocations.hpp"
#include "leat/train/monitored/monitored_session.hpp"
#include "leat/train/summary/event_reader.hpp"
#include "leat/train/summary/event_writer.hpp"
#include "support/effort.hpp"
#include "support/leat_test.hpp"
#include "support/temp_dir.hpp"

namespace training_memory_test {

constexpr std::int64_t steps = 2;

// Trains in one session, saves each step and returns the last one.
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

TEST_CASE("monitored_session: ends without memory, and the next session resumes", "[faults]") {
  int failed = 0;
  bool reached = true;
  constexpr int step_of_n = leat_test::slow_build ? 25 : 5;
  for (int n = 0; reached; n += step_of_n) {  // all n take 15 s, because each run syncs
    INFO("allocation " << n);
    const temp_dir dir;
    const std::ptrdiff_t before = leat_test::alive;
    leat_test::until_failure = n;
    const auto run = [&] { static_cast<void>(leat::block_on(train(dir.path()))); };
    if (leat_test::run_once(run, reached) == leat_test::end::out_of_memory) ++failed;
    CHECK(leat_test::alive - before <= 64);
    const std::int64_t step = leat::block_on(train(dir.path()));  // the checkpoint is intact
    CHECK(step >= steps);
    CHECK(step <= 2 * steps);
    REQUIRE(n < 100'000);
  }
  CHECK(failed > 10);
}

// Runs `body` in a new thread, which has no cached coroutine frames.
void in_new_thread(const std::function<void()>& body) {
  std::exception_ptr error;
  std::thread([&] {
    try {
      body();
    } catch (...) {
      error = std::current_exception();
    }
  }).join();
  if (error) std::rethrow_exception(error);
}

task<> write_events(std::string directory) {
  const auto body = [](leat::event_writer& writer) -> task<> {
    for (const std::int64_t step : {1, 2}) co_await writer.add_scalar("loss", 0.5, step);
  };
  co_await leat::with_event_writer(std::move(directory), body);
}

// Returns the number of events of the writer above. The first event creates the file.
std::size_t events_in(const std::string& directory) {
  if (std::filesystem::is_empty(directory)) return 0;
  const leat::event_run run = leat::block_on(leat::read_events(directory));
  const auto loss = run.series.scalars.find("loss");
  return loss == run.series.scalars.end() ? 0 : loss->second.size();
}

TEST_CASE("event_writer: closes on every path without memory", "[faults]") {
  int failed = 0;
  bool reached = true;
  for (int n = 0; reached; ++n) {
    INFO("allocation " << n);
    const temp_dir dir;
    const std::ptrdiff_t before = leat_test::alive;
    leat_test::until_failure = n;
    const auto run = [&] { in_new_thread([&] { leat::block_on(write_events(dir.path())); }); };
    const bool whole = leat_test::run_once(run, reached) != leat_test::end::out_of_memory;
    if (!whole) ++failed;
    CHECK(leat_test::alive - before <= 64);
    const std::size_t found = events_in(dir.path());
    CHECK((whole ? found == 2 : found <= 2));
    REQUIRE(n < 100'000);
  }
  CHECK(failed > 10);
}

struct outcome {
  std::size_t taken = 0;      // adds that succeeded
  std::uint64_t dropped = 0;  // reported by the writer
  bool told = false;          // a flush or close failed
  int closes = 0;             // failed closes
};

void require_no_memory() {
  if (leat::to_error_code(std::current_exception()) != leat::errc::resource_exhausted) throw;
}

// Adds and flushes regardless of failures. After the first close that fails, allocations succeed
// again.
task<> add_all(std::string directory, std::ptrdiff_t n, std::ptrdiff_t row, outcome& o) {
  leat::event_writer writer = co_await leat::event_writer::open(std::move(directory));
  leat_test::until_failure = n;
  leat_test::failures = row;
  for (std::int64_t step = 1; step <= 12; ++step) {
    try {
      co_await writer.add_scalar("loss", 0.5, step);
      ++o.taken;
    } catch (...) {
      require_no_memory();
    }
    if (step % 5 != 0) continue;
    try {
      co_await writer.flush();
    } catch (...) {
      require_no_memory();
      o.told = true;
    }
  }
  for (bool closed = false; !closed && o.closes < 5;) {
    try {
      co_await writer.close();
      closed = true;
    } catch (...) {
      leat_test::failures = 0;
      require_no_memory();
      o.told = true;
      ++o.closes;
    }
  }
  o.dropped = writer.events_dropped();
}

TEST_CASE("event_writer: writes each accepted event or reports the loss", "[faults]") {
  std::uint64_t lost = 0;
  int failed_closes = 0;
  for (const std::ptrdiff_t row : {1, 2, 3, 8, 1'000'000}) {
    bool reached = true;
    for (int n = 0; reached; n += leat_test::slow_build ? 5 : 1) {
      INFO("allocation " << n << ", and of those behind it " << row - 1);
      const temp_dir dir;
      outcome o;
      in_new_thread([&] { leat::block_on(add_all(dir.path(), n, row, o)); });
      reached = leat_test::until_failure.exchange(-1) < 0;
      leat_test::failures = 1;
      CHECK(events_in(dir.path()) + o.dropped == o.taken);
      CHECK((o.dropped == 0 || o.told));
      CHECK(o.closes <= 2);
      lost += o.dropped;
      failed_closes += o.closes;
      REQUIRE(n < 100'000);
    }
  }
  CHECK(lost > 0);
  CHECK(failed_closes > 10);
}

}  // namespace training_memory_test
