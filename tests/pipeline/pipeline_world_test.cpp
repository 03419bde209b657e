// Pipelines in simulated worlds: the order, stops at any time, and the tasks that are awaited.

#include "leat/coordination/coordinator.hpp"
#include "leat/input/range_input_producer.hpp"
#include "leat/pipeline/read_queue.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "leat/sim/world/world.hpp"
#include "pipeline/lines_pipeline.hpp"
#include "support/leat_test.hpp"

namespace pipeline_world_test {

using leat::line_reader;
using leat::ordering;
using namespace leat_test;

TEST_CASE("pipeline: for_each() stops it on every exit of its body", "[pipeline]") {
  leat::sim::world w(8);
  w.files().write_file("/data/a", "1\n2\n3\n4\n");
  const auto lines = [] {
    return lines_of({.files = {"/data/a"}, .num_epochs = std::nullopt}).prefetch(1);
  };
  w.run([&](leat::sim::world&) -> task<> {
    auto p = lines();
    int seen = 0;
    const auto body = [&](const std::string&) {
      if (++seen == 7) throw std::runtime_error("seven");
    };
    CHECK(co_await throws<std::runtime_error>(p.for_each(body)));
    CHECK(seen == 7);
    leat::task_group group;
    group.spawn([](auto other) -> task<> {
      co_await other.for_each([](std::string) { return leat::sleep_for(std::chrono::hours(1)); });
    }(lines()));
    co_await leat::sleep_for(std::chrono::minutes(90));
    group.request_stop();
    co_await group.join();
  });
}

TEST_CASE("pipeline: read_queue() passes on items that a task pushed", "[pipeline]") {
  leat::sim::world w(3);
  w.run([](leat::sim::world&) -> task<> {
    leat::fifo_queue<int> numbers(4, "numbers");
    leat::task_group group;
    group.spawn([](leat::fifo_queue<int>& to) -> task<> {
      for (int i = 0; i < 100; ++i) co_await to.push(int{i});
      to.close();
    }(numbers));
    auto p = leat::read_queue(numbers).batch({.batch_size = 30});
    std::vector<std::size_t> sizes;
    int next = 0;
    while (const auto batch = co_await p.next()) {
      sizes.push_back(batch->size());
      for (const int n : *batch) CHECK(n == next++);
    }
    CHECK((sizes == std::vector<std::size_t>{30, 30, 30, 10}));
    co_await group.join();
  });
}

// Returns the message of the deadline_exceeded of next().
template <class Pipeline>
task<std::string> starvation_of(Pipeline& p) {
  return message_of(p.next(), leat::errc::deadline_exceeded);
}

TEST_CASE("pipeline: after its patience, names a stage without input", "[pipeline]") {
  for (const std::size_t workers : std::vector<std::size_t>{0, 2}) {
    leat::sim::world w(5);
    std::string error;
    w.run([&](leat::sim::world&) -> task<> {
      leat::fifo_queue<int> numbers(4, "numbers");
      co_await numbers.push(1);
      auto p = leat::read_queue(numbers, {.name = "serve", .patience = std::chrono::seconds(10)})
                   .map("double", [](int n) { return 2 * n; }, {.workers = workers});
      const auto first = co_await p.next();
      CHECK((first == 2));
      co_await leat::sleep_for(std::chrono::minutes(1));  // a consumer may take its time
      error = co_await starvation_of(p);
    });
    CHECK(contains(error, "pipeline 'serve': no element for 10"));
    CHECK(contains(error, "stage 'numbers' receives no input"));
  }
}

TEST_CASE("pipeline: after its patience, names a producer that was never started", "[pipeline]") {
  leat::sim::world w(5);
  std::string error;
  w.run([&](leat::sim::world&) -> task<> {
    leat::range_input_producer numbers(4, {.name = "numbers"});
    auto p = leat::read_queue(numbers.queue(), {.patience = std::chrono::seconds(10)});
    error = co_await starvation_of(p);
  });
  CHECK(contains(
      error, "stage 'numbers' receives no input; call start(coordinator) of producer 'numbers'"));
}

TEST_CASE("pipeline: without patience, names a producer that was never started after 60 s",
          "[pipeline]") {
  leat::sim::world w(5);
  w.run([](leat::sim::world& here) -> task<> {
    leat::range_input_producer numbers(4, {.num_epochs = 1, .shuffle = false, .name = "numbers"});
    const leat::time_point begin = here.now();
    {
      auto p = leat::read_queue(numbers.queue(), {.name = "serve"}).prefetch(1);
      const std::string said = co_await starvation_of(p);
      INFO(said);
      CHECK(contains(said,
                     "pipeline 'serve', stage 'numbers': no element for 60 s, producer 'numbers' "
                     "was never started: call its start(coordinator)"));
      CHECK(here.now() - begin == std::chrono::seconds(60));
    }
    // The options of the producer can set another time.
    {
      const leat::producer_options options{.name = "few", .start_patience = 2s};
      leat::range_input_producer few(4, options);
      auto p = leat::read_queue(few.queue());
      CHECK(contains(co_await starvation_of(p), "no element for 2 s, producer 'few' was never"));
    }
    // `patience` replaces the 60 s.
    {
      auto p = leat::read_queue(numbers.queue(), {.patience = std::chrono::minutes(5)});
      CHECK(contains(co_await starvation_of(p), "call start(coordinator) of producer 'numbers'"));
      CHECK(here.now() - begin >= std::chrono::seconds(62) + std::chrono::minutes(5));
    }
    // Nothing was taken from the queue.
    leat::coordinator coord;
    numbers.start(coord);
    auto p = leat::read_queue(numbers.queue());
    for (int i = 0; i < 4; ++i) {
      const auto number = co_await p.next();
      CHECK((number == i));
    }
    const auto end = co_await p.next();
    CHECK_FALSE(end.has_value());
    co_await coord.join();
  });
}

TEST_CASE("pipeline: a producer that starts during the wait causes no error", "[pipeline]") {
  // The last of these times is the time limit.
  for (const int after : {1, 59, 60}) {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      CAPTURE(after, seed);
      std::vector<int> got;
      bool failed = false;
      leat::sim::world w(seed);
      w.run([&](leat::sim::world&) -> task<> {
        leat::range_input_producer numbers(4, {.num_epochs = 1, .shuffle = false});
        leat::coordinator coord;
        leat::task_group group;
        group.spawn([](auto& producer, leat::coordinator& c, int seconds) -> task<> {
          co_await leat::sleep_for(std::chrono::seconds(seconds));
          producer.start(c);
        }(numbers, coord, after));
        for (int attempt = 0; attempt < 2; ++attempt) {
          auto p = leat::read_queue(numbers.queue());
          failed = false;
          try {
            while (const auto number = co_await p.next()) got.push_back(*number);
            break;
          } catch (const leat::failure& e) {
            CHECK(e.code() == leat::errc::deadline_exceeded);
            failed = true;
          }
        }
        co_await group.join();
        co_await coord.join();
      });
      CHECK_FALSE(failed);
      CHECK((got == std::vector<int>{0, 1, 2, 3}));
    }
  }
}

TEST_CASE("pipeline: a queue that the program fills slowly has no time limit", "[pipeline]") {
  leat::sim::world w(5);
  w.run([](leat::sim::world&) -> task<> {
    leat::range_input_producer unused(4, {.name = "unused"});
    leat::fifo_queue<int> numbers(4, "numbers");
    leat::task_group group;
    group.spawn([](leat::fifo_queue<int>& to) -> task<> {
      for (int i = 0; i < 2; ++i) {
        co_await leat::sleep_for(std::chrono::minutes(5));
        co_await to.push(int{i});
      }
      to.close();
    }(numbers));
    auto p = leat::read_queue(numbers);
    int count = 0;
    while (const auto number = co_await p.next()) CHECK(*number == count++);
    CHECK(count == 2);
    co_await group.join();
  });
}

TEST_CASE("pipeline: slow files do not blame a producer", "[pipeline]") {
  leat::sim::world w(5, {.files = {.faults = {.slow = 1}}});
  w.files().write_file("/in/a", "1\n");
  std::string error;
  w.run([&](leat::sim::world&) -> task<> {
    leat::range_input_producer numbers(4, {.name = "numbers"});
    auto p = lines_of({.files = {"/in/a"}}, {.patience = std::chrono::seconds(10)});
    error = co_await starvation_of(p);
  });
  CHECK(contains(error, "stage 'files' makes the other stages wait"));
  CHECK(!contains(error, "call start(coordinator)"));
}

TEST_CASE("pipeline: inputs that produce no element yet do not exhaust its patience",
          "[pipeline]") {
  leat::sim::world w(6);
  std::string error;
  w.run([&](leat::sim::world&) -> task<void> {
    leat::fifo_queue<int> numbers(4, "numbers");
    leat::task_group group;
    group.spawn([](leat::fifo_queue<int>& to) -> task<> {
      for (int i = 0; i < 1000; ++i) {
        co_await leat::sleep_for(std::chrono::seconds(1));
        co_await to.push(int{i});
      }
    }(numbers));
    auto p = leat::read_queue(numbers, {.patience = std::chrono::seconds(10)})
                 .batch({.batch_size = 100, .name = "hundreds"});
    error = co_await starvation_of(p);
    numbers.close();
    co_await stop_and_join(group);
  });
  CHECK(contains(error, "s: stage 'numbers' produced "));
  CHECK(contains(error, " in this time, but stage 'hundreds' produced none"));
}

// The complete path, in a world with short reads, delays and a different order for each seed.
task<texts> read_in(leat::sim::world& w, std::size_t workers, ordering order) {
  std::vector<leat::scheduler*> threads;
  for (std::size_t i = 0; i < w.threads(); ++i) threads.push_back(&w.thread(i));
  auto p = leat::read_files<line_reader>({.files = {"/data/*"},
                                          .num_epochs = 2,
                                          .shuffle = true,
                                          .seed = 5,
                                          .interleave = 2,
                                          .block_length = 3,
                                          .reader = {.read = {.chunk_size = 16}}},
                                         {.order = order, .workers = threads})
               .map("text", text_of, {.workers = workers})
               .shuffle({.capacity = 10, .seed = 6})
               .batch({.batch_size = 4})
               .prefetch(1);
  texts all;
  while (auto batch = co_await p.next()) {
    for (std::string& text : *batch) all.push_back(std::move(text));
  }
  co_return all;
}

TEST_CASE("pipeline: order is equal in every simulated world", "[pipeline]") {
  texts expected;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const std::size_t workers = seed % 4;
    texts seen;
    leat::sim::world w(
        seed, {.threads = 1 + seed % 3, .files = {.faults = {.short_transfer = 0.3, .slow = 0.2}}});
    for (char name = 'a'; name < 'e'; ++name) {
      std::string text;
      for (int i = 0; i < 10 * (name - 'a'); ++i) text += name + std::to_string(i) + "\n";
      w.files().write_file(std::string("/data/") + name, text);
    }
    const ordering order = seed % 5 == 4 ? ordering::free : ordering::deterministic;
    w.run([&](leat::sim::world& here) -> task<> { seen = co_await read_in(here, workers, order); });
    if (expected.empty()) expected = seen;
    if (order == ordering::free) {
      CHECK(sorted(seen) == sorted(expected));
    } else {
      CHECK(seen == expected);
    }
  }
  CHECK(expected.size() == 120);
}

// A slow consumer, in virtual time.
task<std::string> verdict_of(leat::duration consuming) {
  auto p = leat::read_files<line_reader>({.files = {"/data/*"}})
               .map("text", text_of)
               .batch({.batch_size = 5})
               .prefetch(2);
  const leat::time_point begin = leat::scheduler::current()->now();
  while (auto next = co_await p.next()) co_await leat::sleep_for(consuming);
  const leat::duration elapsed = leat::scheduler::current()->now() - begin;
  const auto stages = p.stages();
  co_return leat::describe_bottleneck(stages, elapsed);
}

TEST_CASE("pipeline: describe_bottleneck() names a consumer for which all stages wait",
          "[pipeline]") {
  leat::sim::world w(1);
  w.files().write_file("/data/a", std::string(500, '\n'));
  std::string text;
  w.run([&](leat::sim::world&) -> task<> {
    text = co_await verdict_of(std::chrono::milliseconds(5));
  });
  CHECK(contains(text, "The bottleneck is 'consumer'"));
}

TEST_CASE("pipeline: a stop of the consumer at any time ends all tasks", "[pipeline]") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    leat::sim::world w(seed, {.threads = 2, .files = {.faults = {.slow = 0.5}}});
    w.files().write_file("/data/a", std::string(300, '\n'));
    w.run([&](leat::sim::world& here) -> task<> {
      leat::task_group group;
      group.spawn([](leat::sim::world& there) -> task<> {
        auto p = leat::read_files<line_reader>({.files = {"/data/*"}, .num_epochs = std::nullopt},
                                               {.workers = {&there.thread(1)}})
                     .map("text", text_of, {.workers = 2})
                     .prefetch(1);
        for (bool more = true; more;) {
          const auto next = co_await p.next();
          more = next.has_value();
        }
      }(here));
      co_await leat::sleep_for(std::chrono::microseconds(here.random().uniform_below(3000)));
      group.request_stop();
      co_await group.join();
    });
  }
}

}  // namespace pipeline_world_test
