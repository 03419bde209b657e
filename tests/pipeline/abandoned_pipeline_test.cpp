// Pipelines that are destroyed while they run: the loop around next() throws, or ends early.

#include <atomic>
#include <thread>

#include "leat/pipeline/pipeline.hpp"
#include "leat/pipeline/read_queue.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "leat/sim/world/world.hpp"
#include "pipeline/lines_pipeline.hpp"
#include "support/leat_test.hpp"
#include "support/loops.hpp"
#include "support/temp_dir.hpp"

namespace abandoned_pipeline_test {

using leat_test::text_of;
using leat_test::texts;
using std::chrono::milliseconds;

texts one_file(const temp_dir& dir) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += std::to_string(i) + '\n';
  return {dir.write("a", text)};
}

// Reads a file repeatedly, on the threads of a runtime.
auto endless_lines(const texts& files, const leat::runtime& rt, std::size_t readers) {
  return leat::read_files<leat::line_reader>(
             {.files = files, .num_epochs = std::nullopt, .readers = readers},
             {.workers = leat::schedulers_of(rt)})
      .map("text", text_of, {.workers = 2})
      .prefetch(2);
}

template <class Pipeline>
task<> take_ten_and_throw(Pipeline& p) {
  for (int i = 0; i < 10; ++i) {
    const auto next = co_await p.next();
    if (!next) co_return;
  }
  throw std::runtime_error("the loop's own error");
}

constexpr const char* own_error = "the loop's own error";

TEST_CASE("pipeline: passes on an exception of the loop around next()", "[pipeline]") {
  const temp_dir dir;
  const texts files = one_file(dir);
  leat::runtime rt({.threads = 2});
  for (const std::size_t workers : {0U, 1U, 3U}) {
    for (const bool on_threads : {false, true}) {
      leat::pipeline_options options;
      options.patience = std::chrono::hours(1);
      if (on_threads) options.workers = leat::schedulers_of(rt);
      const auto loop = [&]() -> task<> {
        auto p = leat::read_files<leat::line_reader>({.files = files, .num_epochs = std::nullopt},
                                                     options)
                     .map("text", text_of, {.workers = workers})
                     .prefetch(2);
        co_await take_ten_and_throw(p);
      };
      CHECK(error_of([&] { leat::block_on(loop()); }) == own_error);
      CHECK(error_of([&] { rt.block_on(loop()); }) == own_error);
    }
  }
}

TEST_CASE("pipeline: can be destroyed while running if it has no tasks", "[pipeline]") {
  const temp_dir dir;
  const texts files = one_file(dir);
  CHECK(error_of([&] {
          leat::block_on([](texts f) -> task<> {
            auto p = leat_test::lines_of({.files = f});
            co_await take_ten_and_throw(p);
          }(files));
        }) == own_error);
}

TEST_CASE("pipeline: stops when a loop over it exits with break", "[pipeline]") {
  const temp_dir dir;
  const texts files = one_file(dir);
  leat::block_on([](texts f) -> task<> {
    auto p = leat_test::lines_of({.files = f, .num_epochs = std::nullopt}).prefetch(1);
    for (;;) {
      const auto next = co_await p.next();
      if (next) break;
    }
  }(files));
}

TEST_CASE("pipeline: outside block_on(), stops when the task ends", "[pipeline]") {
  const temp_dir dir;
  leat::runtime rt({.threads = 2});
  // Many times, because the stop notice may still be in transit when the tasks have ended.
  for (int round = 0; round < 100; ++round) {
    auto p = endless_lines(one_file(dir), rt, 1);
    CHECK(error_of([&] { leat::block_on(take_ten_and_throw(p)); }) == own_error);
  }
}

TEST_CASE("pipeline: can be destroyed outside the runtime that runs it", "[pipeline]") {
  const temp_dir dir;
  leat::runtime rt({.threads = 2});
  auto p = endless_lines(one_file(dir), rt, 0);
  CHECK(error_of([&] { rt.block_on(take_ten_and_throw(p)); }) == own_error);
}

TEST_CASE("pipeline: no function is called after the destructor", "[pipeline]") {
  const temp_dir dir;
  const texts files = one_file(dir);
  leat::runtime rt({.threads = 3});
  for (int round = 0; round < 20; ++round) {
    const auto loop = [&]() -> task<> {
      const auto alive = std::make_unique<std::atomic<bool>>(true);
      auto p = leat::read_files<leat::line_reader>({.files = files, .num_epochs = std::nullopt},
                                                   {.workers = leat::schedulers_of(rt)})
                   .map("home", text_of)
                   .prefetch(1, "first")
                   .map("slow",
                        [flag = alive.get()](const std::string& s) {
                          if (!*flag) std::abort();
                          if (s.ends_with("00")) std::this_thread::sleep_for(milliseconds(1));
                          return s;
                        },
                        {.workers = 3});
      co_await take_ten_and_throw(p);
    };
    CHECK(error_of([&] { leat::block_on(loop()); }) == own_error);
  }
}

TEST_CASE("pipeline: can be destroyed before a queue and a runtime of the same block",
          "[pipeline]") {
  leat::block_on([]() -> task<> {
    std::string error;
    try {
      leat::fifo_queue<int> numbers(32, "numbers");
      leat::runtime rt({.threads = 2});
      for (int i = 0; i < 20; ++i) {
        const bool added = co_await numbers.push(int{i});
        CHECK(added);
      }
      auto p = leat::read_queue(numbers, {.workers = leat::schedulers_of(rt)})
                   .map("plus", [](int n) { return n + 1; }, {.workers = 2})
                   .prefetch(1);
      co_await take_ten_and_throw(p);
    } catch (const std::runtime_error& e) {
      error = e.what();
    }
    CHECK(error == own_error);
  }());
}

TEST_CASE("pipeline: the owner's join waits for the tasks of a destroyed pipeline", "[pipeline]") {
  const temp_dir dir;
  const texts files = one_file(dir);
  leat::block_on([](texts f) -> task<> {
    leat::task_group group;
    group.spawn([f]() -> task<> {
      auto p = leat_test::lines_of({.files = f, .num_epochs = std::nullopt}).prefetch(1);
      co_await take_ten_and_throw(p);
    });
    CHECK(co_await message_of<std::runtime_error>(group.join()) == own_error);
  }(files));
}

TEST_CASE("pipeline: ends when it is destroyed at any time in a simulated world", "[pipeline]") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    leat::sim::world w(seed, {.threads = 2, .files = {.faults = {.slow = 0.5}}});
    w.files().write_file("/data/a", std::string(300, '\n'));
    std::string error;
    w.run([&](leat::sim::world& here) -> task<> {
      auto p = leat::read_files<leat::line_reader>(
                   {.files = {"/data/*"}, .num_epochs = std::nullopt, .readers = seed % 2},
                   {.workers = {&here.thread(1)}})
                   .map("text", text_of, {.workers = seed % 3})
                   .prefetch(1);
      const auto count = here.random().uniform_below(40);
      try {
        auto local = std::move(p);
        for (std::uint64_t i = 0; i < count; ++i) {
          const auto next = co_await local.next();
          CHECK(next.has_value());
        }
        throw std::runtime_error(own_error);
      } catch (const std::runtime_error& e) {
        error = e.what();
      }
    });
    CHECK(error == own_error);
  }
}

TEMPLATE_TEST_CASE("pipeline: its event loop may be destroyed while it runs", "[pipeline]",
                   leat_test::asio_loop, leat_test::embedded_loop) {
  const temp_dir dir;
  const texts files = one_file(dir);
  leat::runtime rt({.threads = 2});
  const bool on_threads = GENERATE(false, true);
  for (int turns = 1; turns < 30; ++turns) {
    leat::pipeline_options options;
    options.patience = std::chrono::hours(1);
    if (on_threads) options.workers = leat::schedulers_of(rt);
    leat::task_group group;
    TestType loop;
    group.spawn_on(loop.get_scheduler(), [](texts f, leat::pipeline_options o) -> task<> {
      auto p = leat::read_files<leat::line_reader>({.files = f, .num_epochs = std::nullopt}, o)
                   .map("text", text_of, {.workers = 3})
                   .shuffle({.capacity = 100})
                   .prefetch(2);
      for (;;) {
        const auto next = co_await p.next();
        if (next) co_await leat::this_task::yield();
      }
    }(files, options));
    for (int i = 0; i < turns; ++i) {
      loop.run_one_turn();
      if (on_threads && i % 5 == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    loop.end();
    CHECK(group.live_tasks() == 0);
    CHECK_THROWS_AS(leat::block_on(group.join()), leat::failure);
  }
}

}  // namespace abandoned_pipeline_test
