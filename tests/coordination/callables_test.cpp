// Each interface that accepts a callable accepts each kind of callable.

#include <atomic>
#include <stop_token>

#include <asio/io_context.hpp>

#include "leat/coordination.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "leat/sync/watch.hpp"
#include "support/callables.hpp"
#include "support/leat_test.hpp"

namespace callables_test {

using leat_test::callable_kinds;
using leat_test::with_each_callable;

std::atomic<int> calls{0};

void call() { ++calls; }
void call_until(std::stop_token) { ++calls; }
int call_for_value() { return ++calls; }
task<> call_task() {
  ++calls;
  co_return;
}
task<int> call_task_for_value() { co_return ++calls; }
task<> call_in_group(task_group&) { return call_task(); }
task<> call_in_coordinator(leat::coordinator&) { return call_task(); }
task<bool> call_and_end() {
  ++calls;
  co_return false;
}
task<> call_and_throw() {
  ++calls;
  throw leat::failure(errc::out_of_range, "the end");
  co_return;
}

/// Calls `use` with each kind of callable that calls F, and checks that F was called each time.
template <auto F, class Use>
void check_each(Use use) {
  calls = 0;
  with_each_callable<F>(std::move(use));
  CHECK(calls == callable_kinds);
}

/// Like check_each(), but awaits the task that `use` returns.
template <auto F, class Use>
void check_each_task(Use use) {
  check_each<F>([&](auto&& f) { leat::block_on(use(std::forward<decltype(f)>(f))); });
}

TEST_CASE("run: accepts each kind of callable") {
  check_each<&call_task>([](auto&& f) { CHECK(leat::run(std::forward<decltype(f)>(f)) == 0); });
  check_each<&call_task_for_value>(
      [](auto&& f) { CHECK(leat::run(std::forward<decltype(f)>(f)) == calls); });
}

TEST_CASE("async_run: accepts each kind of callable") {
  check_each<&call_task>([](auto&& f) {
    asio::io_context io;
    leat::async_run(io, std::forward<decltype(f)>(f),
                    [](const std::exception_ptr& error) { CHECK_FALSE(error); });
    io.run();
  });
}

TEST_CASE("task_group: accepts each kind of callable") {
  check_each_task<&call_task>([](auto&& f) -> task<> {
    task_group group;
    group.spawn(std::forward<decltype(f)>(f));
    co_await group.join();
  });
  check_each_task<&call_in_group>(
      [](auto&& f) { return leat::with_task_group(std::forward<decltype(f)>(f)); });
}

TEST_CASE("run_blocking: accepts each kind of callable") {
  check_each_task<&call_for_value>([](auto&& f) -> task<> {
    CHECK(co_await leat::run_blocking(std::forward<decltype(f)>(f)) == calls);
  });
  check_each_task<&call_until>(
      [](auto&& f) -> task<> { co_await leat::run_blocking(std::forward<decltype(f)>(f)); });
}

TEST_CASE("retry: accepts each kind of callable") {
  check_each_task<&call_task>(
      [](auto&& f) { return leat::retry(std::forward<decltype(f)>(f), {.attempts = 2}); });
  check_each_task<&call_task>([](auto&& f) { return leat::retry(std::forward<decltype(f)>(f)); });
  check_each_task<&call_task_for_value>(
      [](auto&& f) { return leat::retry(std::forward<decltype(f)>(f)); });
}

struct element {
  task<> visit() { return call_task(); }
  task<int> value() const { return call_task_for_value(); }
};
task<> visit(element& e) { return e.visit(); }
task<int> value_of(const element& e) { return e.value(); }

TEST_CASE("for_each_concurrent: accepts each kind of callable") {
  std::vector<element> elements(1);
  const auto visit_all = [&](auto&& f) {
    return leat::for_each_concurrent(elements, 1, std::forward<decltype(f)>(f));
  };
  check_each_task<&visit>(visit_all);
  calls = 0;
  leat::block_on(visit_all(&element::visit));
  CHECK(calls == 1);
}

TEST_CASE("map_concurrent: accepts each kind of callable") {
  const std::vector<element> elements(1);
  const auto values = [&](auto&& f) {
    return leat::map_concurrent(elements, 1, std::forward<decltype(f)>(f));
  };
  check_each_task<&value_of>(values);
  calls = 0;
  CHECK(leat::block_on(values(&element::value)) == std::vector<int>{1});
}

void add_call(int& n) { n = ++calls; }
bool is_set(const int& n) { return n == ++calls; }

TEST_CASE("watch: accepts each kind of callable") {
  leat::watch<int> value(0);
  check_each<&add_call>([&](auto&& f) { value.modify(std::forward<decltype(f)>(f)); });
  CHECK(value.get() == callable_kinds);

  check_each_task<&is_set>([&](auto&& f) -> task<> {
    value.set(calls + 1);
    co_await value.wait_until(std::forward<decltype(f)>(f));
  });

  struct setting {
    bool ready = false;
    void prepare() { ready = true; }
  };
  leat::watch<setting> settings;
  CHECK(settings.modify(&setting::prepare));
  CHECK(leat::block_on(settings.wait_until(&setting::ready)));
}

TEST_CASE("coordinator: accepts each kind of callable") {
  check_each_task<&call_task>([](auto&& f) -> task<> {
    leat::coordinator coord;
    coord.spawn(std::forward<decltype(f)>(f));
    co_await coord.join();
  });
  check_each_task<&call_task>([](auto&& f) -> task<> {
    leat::coordinator coord;
    CHECK(co_await coord.stop_on_exception(std::forward<decltype(f)>(f)));
    co_await coord.join();
  });
  check_each_task<&call_in_coordinator>(
      [](auto&& f) { return leat::with_coordinator(std::forward<decltype(f)>(f)); });

  leat::coordinator coord;
  const auto start = [&](auto&& f) {
    coord.start_thread("thread", std::forward<decltype(f)>(f));
    leat::block_on(coord.join());
  };
  check_each<&call>(start);
  check_each<&call_until>(start);
  check_each<&call>(
      [&](auto&& f) { CHECK(coord.stop_on_exception(std::forward<decltype(f)>(f))); });
}

TEST_CASE("looper: accepts each kind of callable") {
  check_each_task<&call_and_throw>([](auto&& f) -> task<> {
    leat::coordinator coord;
    coord.spawn(leat::looper(std::forward<decltype(f)>(f)));
    co_await coord.join();
  });
}

TEST_CASE("queue_runner: accepts each kind of callable") {
  const auto run = [](auto&& f) -> task<> {
    leat::fifo_queue<int> queue(1, "numbers");
    leat::queue_runner runner(queue);
    runner.add(std::forward<decltype(f)>(f));
    co_await runner.run();
  };
  check_each_task<&call_and_end>(run);
  check_each_task<&call_and_throw>(run);
}

}  // namespace callables_test
