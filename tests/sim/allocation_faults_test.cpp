#include "leat/sim/allocation_faults.hpp"

#include <exception>
#include <new>
#include <thread>

#include "leat/io/reader/line_reader.hpp"
#include "leat/pipeline/pipeline.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "leat/sim.hpp"
#include "leat/sim/failing_new.hpp"
#include "support/effort.hpp"
#include "support/leat_test.hpp"

namespace allocation_faults_test {

using leat::sim::allocation_faults;
using leat::sim::world;
using texts = std::vector<std::string>;

// The result of a run. An exception of Asio or an error code may replace std::bad_alloc.
enum class end { well, out_of_memory };

template <class Run>
end run_once(Run run) {
  try {
    run();
  } catch (...) {
    if (leat::to_error_code(std::current_exception()) == errc::resource_exhausted) {
      return end::out_of_memory;
    }
    throw;
  }
  return end::well;
}

// ------------------------------------------------------------------- a queue, by a delivery_log

using queue = leat::fifo_queue<std::string>;

task<> produce(queue& to, leat::sim::delivery_log& book, std::uint64_t producer) {
  for (std::uint64_t id = producer * 10; id < producer * 10 + 5; ++id) {
    book.record_push(producer, id);
    bool in = false;
    std::exception_ptr error;
    try {
      std::string text = "a text that is too long for a small string, number ";
      text += std::to_string(id);
      in = co_await to.push(std::move(text));
    } catch (...) {
      error = std::current_exception();
    }
    if (!in) book.record_rejected(id);
    if (error) std::rethrow_exception(error);
  }
}

task<> consume(queue& from, leat::sim::delivery_log& book, std::uint64_t consumer) {
  while (const auto text = co_await from.pop()) {
    book.record_pop(consumer, std::stoull(text->substr(text->rfind(' ') + 1)));
  }
}

task<> hand_over(world& w, queue& q, leat::sim::delivery_log& book) {
  co_await leat::with_task_group([&](task_group& consumers) -> task<> {
    for (std::uint64_t i = 0; i < 2; ++i) {
      consumers.spawn_on(w.thread(i % w.threads()), consume(q, book, i));
    }
    co_await leat::with_task_group([&](task_group& producers) -> task<> {
      for (std::uint64_t i = 0; i < 2; ++i) {
        producers.spawn_on(w.thread(i % w.threads()), produce(q, book, i));
      }
      co_return;
    });
    q.close();
  });
}

// The decisions and the allocations of a run.
struct trace {
  std::vector<std::uint32_t> decisions;
  std::uint64_t allocations = 0;
  std::vector<std::uint64_t> failed;
  end how = end::well;

  friend bool operator==(const trace&, const trace&) = default;
};

trace run_queue(std::uint64_t seed, const leat::sim::memory_options& memory) {
  queue q(2, "a queue with a name that is not short");
  leat::sim::delivery_log book("texts");
  world w(seed, {.threads = 2, .memory = memory});
  trace t;
  t.how = run_once([&] {
    w.run([&](world& here) {
      here.add_invariants(q);
      return hand_over(here, q, book);
    });
  });
  book.check_complete(q.size());
  for (const auto& c : w.decisions().made()) t.decisions.push_back(c.chosen);
  t.allocations = w.memory().count();
  t.failed = w.memory().failed();
  return t;
}

TEST_CASE("allocation_faults: no item is lost if the n-th allocation fails, for every n") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    std::uint64_t failures = 0;
    for (std::uint64_t n = 1;; ++n) {
      INFO("seed " << seed << ", allocation " << n);
      const trace t = run_queue(seed, {.plan = n});
      if (t.failed.empty()) {
        CHECK(t.how == end::well);
        CHECK(t.allocations == n - 1);
        break;
      }
      CHECK(t.failed == std::vector{n});
      if (t.how == end::out_of_memory) ++failures;
      REQUIRE(n < 10'000);
    }
    CHECK(failures > 10);
  }
}

TEST_CASE("allocation_faults: equal seeds produce equal allocations and failures") {
  std::size_t failed = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const trace first = run_queue(seed, {.failure = 0.02});
    CHECK(run_queue(seed, {.failure = 0.02}) == first);
    trace elsewhere;  // without cached coroutine frames
    std::thread([&] { elsewhere = run_queue(seed, {.failure = 0.02}); }).join();
    CHECK(elsewhere == first);
    run_queue(seed, {});
    failed += first.failed.size();
  }
  CHECK(failed > 20);
}

TEST_CASE(
    "allocation_faults: a sweep finds a program that does not survive and shows the allocation") {
  const auto careless = [](world&) -> task<> {
    std::string text("a text that is too long for a small string");
    co_await leat::this_task::yield();
    const std::string copy = text;
  };
  std::string what;
  std::uint64_t seed = 0;
  std::vector<std::uint32_t> script;
  const leat::sim::sweep_options options{.count = 1000, .world = {.memory = {.failure = 0.05}}};
  try {
    leat::sim::sweep(careless, options);
  } catch (const leat::sim::seed_failed& e) {
    what = e.what();
    seed = e.seed();
    script = e.script();
  }
  INFO(what);
  REQUIRE(seed > 0);
  CHECK(contains(what, "with 1 non-default decisions"));
  CHECK(contains(what, "allocation "));
  CHECK(contains(what, " fails\n"));
  CHECK(run_once([&] { leat::sim::run(seed, careless, options.world); }) == end::out_of_memory);
  CHECK(run_once([&] { world(script, seed, options.world).run(careless); }) == end::out_of_memory);
}

// ---------------------------------------------------------------------- a pipeline, by its state

auto declared(std::size_t readers) {
  const auto words = [](std::string_view line) {
    return texts(2, "the word of a line that is not short: " + std::string(line));
  };
  return leat::read_files<leat::line_reader>({.files = {"/in/*"},
                                              .num_epochs = 2,
                                              .shuffle = true,
                                              .seed = 1,
                                              .interleave = 2,
                                              .readers = readers})
      .flat_map("words", words)
      .shuffle({.capacity = 5, .seed = 2})
      .batch({.batch_size = 3})
      .prefetch(2);
}
using words_pipeline = decltype(declared(0));

void write_input(world& w) {
  w.files().write_file("/in/a", "one\ntwo\nthree\n");
  w.files().write_file("/in/b", "four\nfive\n");
}

// Repeats a step until it has enough memory.
template <class Step>
void persist(Step step) {
  for (bool done = false; !done;) {
    done = run_once(step) == end::well;
  }
}

// Resumes from `state` and reads to the end, or until an allocation fails.
task<> read_on(std::size_t readers, std::string& state, std::vector<texts>& seen) {
  std::unique_ptr<words_pipeline> p;
  std::exception_ptr error;
  bool begun = state.empty();
  const std::size_t before = seen.size();
  try {
    p = std::make_unique<words_pipeline>(declared(readers));
    if (!begun) co_await p->restore(state);
    begun = true;
    while (auto batch = co_await p->next()) seen.push_back(std::move(*batch));
  } catch (...) {
    error = std::current_exception();
  }
  for (bool stopped = !p; !stopped;) {
    try {
      co_await p->stop();
      stopped = true;
    } catch (const std::bad_alloc&) {
    }
  }
  try {
    if (error && p && begun) persist([&] { state = p->save(); });
  } catch (const leat::failure&) {  // no memory to resume: keeps the last state
    seen.resize(before);
  }
  if (error) std::rethrow_exception(error);
}

// All batches, read by as many pipelines as necessary.
struct reading {
  std::vector<texts> seen;
  std::uint64_t failures = 0;
};

reading read_all(std::uint64_t seed, const leat::sim::memory_options& memory,
                 std::size_t readers = 0) {
  reading r;
  r.seen.reserve(100);
  std::string state;
  world w(seed, {.threads = 1, .memory = memory});
  write_input(w);
  const auto body = [&](world&) { return read_on(readers, state, r.seen); };
  while (run_once([&] { w.run(body); }) != end::well) {
    if (++r.failures == 1000) throw std::runtime_error("it does not get on");
  }
  if (w.files().open_files() != 0) throw std::runtime_error("a file is left open");
  r.failures = w.memory().failed().size();
  return r;
}

TEST_CASE(
    "allocation_faults: a pipeline resumes after the n-th failure without loss, for every n") {
  const std::size_t readers = GENERATE(0U, 3U);
  const std::vector<texts> expected = read_all(1, {}).seen;
  REQUIRE(expected.size() == 7);
  std::uint64_t n = 1;
  for (;; n += leat_test::slow_build ? 7 : 1) {
    INFO("allocation " << n << " with " << readers << " readers");
    const reading r = read_all(1, {.plan = n}, readers);
    REQUIRE(r.seen == expected);
    if (r.failures == 0) break;
    REQUIRE(n < 10'000);
  }
  CHECK(n > 100);
}

TEST_CASE("allocation_faults: a pipeline loses nothing after repeated failures") {
  const std::size_t readers = GENERATE(0U, 3U);
  const std::vector<texts> expected = read_all(1, {}).seen;
  std::uint64_t failures = 0;
  for (std::uint64_t seed = 0; seed < leat_test::scaled_count(300); ++seed) {
    INFO("seed " << seed);
    const reading r = read_all(seed, {.failure = 0.005}, readers);
    REQUIRE(r.seen == expected);
    failures += r.failures;
  }
  CHECK(failures > leat_test::scaled_count(300));
}

// --------------------------------------------------------------------- allocations that never fail

TEST_CASE("allocation_faults: allocations of the test and the world do not fail") {
  const auto no_memory = [](std::size_t bytes) {
    try {
      ::operator delete(::operator new(bytes));
    } catch (const std::bad_alloc&) {
      return true;
    }
    return false;
  };
  world w(1, {.memory = {.failure = 1}});
  const auto body = [&](world& here) -> task<> {
    const std::uint64_t before = here.memory().count();
    const bool next = allocation_faults::next_fails();
    {
      const allocation_faults::without_faults own;
      CHECK_FALSE(no_memory(100));
      here.files().write_file("/a/file/with/a/name/that/is/not/short", "text");
    }
    leat::sim::delivery_log* book = nullptr;
    {
      const allocation_faults::without_faults own;
      book = new leat::sim::delivery_log("a delivery_log with a name that is not short");
    }
    for (std::uint64_t i = 0; i < 100; ++i) book->record_push(1, i);
    for (int i = 0; i < 100; ++i) here.decisions().choose(2, "");
    volatile std::size_t hundred = 100;  // otherwise clang removes the allocation
    const bool none = no_memory(hundred);
    const bool aligned = !::operator new(100, std::align_val_t(64), std::nothrow);
    const bool array = !::operator new[](100, std::nothrow);
    const std::uint64_t after = here.memory().count();
    const allocation_faults::without_faults own;
    delete book;
    CHECK(next);
    CHECK(none);
    CHECK(aligned);
    CHECK(array);
    CHECK(after - before == 4);
    co_return;
  };
  w.run(body);
  CHECK_FALSE(no_memory(100));
  CHECK_FALSE(allocation_faults::next_fails());
}

TEST_CASE("allocation_faults: counts no allocation while faults are disabled") {
  world w(1);
  w.run([](world&) -> task<> {
    const std::string text(100, 'x');
    co_return;
  });
  CHECK(w.memory().count() == 0);
}

}  // namespace allocation_faults_test
