// Passes lambdas and elements of types in an unnamed namespace to every template of leat that keeps
// them in a coroutine. No compiler may warn, even where another file includes this one, as in a
// unity build.

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <asio/detached.hpp>
#include <asio/io_context.hpp>

#include <leat/leat.hpp>
#include <leat/tensorflow.hpp>

namespace {

using namespace std::chrono_literals;

struct point {
  int x = 0;
  friend bool operator==(point, point) = default;
  friend bool operator<(point a, point b) { return a.x < b.x; }
};

leat::task<point> make_point() { co_return point{1}; }

leat::async_generator<point> points() { co_yield point{1}; }

leat::task<> tasks_and_groups() {
  co_await leat::with_task_group([](leat::task_group& group) -> leat::task<> {
    group.spawn([]() -> leat::task<> { co_await leat::this_task::yield(); });
    co_return;
  });
  co_await leat::with_task_group([](leat::task_group&) -> leat::task<point> { co_return point{}; });
  co_await leat::with_coordinator([](leat::coordinator& coord) -> leat::task<point> {
    coord.spawn([]() -> leat::task<> { co_return; });
    coord.start_thread("thread", [] {});
    co_await coord.stop_on_exception([]() -> leat::task<> { co_return; });
    co_return point{};
  });
  co_await leat::retry([] { return make_point(); });
  co_await leat::retry([]() -> leat::task<> { co_return; });
  const std::vector<point> some = {point{1}, point{2}};
  co_await leat::for_each_concurrent(some, 2, [](const point&) -> leat::task<> { co_return; });
  co_await leat::map_concurrent(some, 2, [](point p) -> leat::task<point> { co_return p; });
  co_await leat::when_all(make_point(), make_point());
  co_await leat::when_any(make_point(), make_point());
  std::vector<leat::task<point>> several;
  several.push_back(make_point());
  co_await leat::when_all(std::move(several));
  co_await leat::run_on(*leat::scheduler::current(), make_point());
  co_await leat::with_timeout(make_point(), 1s);
  co_await leat::run_blocking([] { return point{}; });
  auto all = points();
  while (auto p = co_await all.next()) static_cast<void>(p);
}

leat::task<> queues_and_primitives() {
  leat::fifo_queue<point> queue(4, "points");
  leat::priority_queue<point> by_x(4, "by x");
  co_await queue.push(point{});
  co_await queue.pop();
  co_await by_x.push(point{});
  co_await leat::select(queue.pop(), by_x.pop());
  leat::watch<point> last(point{}, "last");
  last.modify([](point& p) { ++p.x; });
  co_await last.wait_until([](const point& p) { return p.x == 1; });
  leat::queue_runner runner(queue);
  runner.add([&queue]() -> leat::task<bool> { co_return co_await queue.push(point{}); });
  runner.add([&queue]() -> leat::task<> { co_await queue.push(point{}); });
  co_await leat::looper([]() -> leat::task<> { co_return; }, {.interval = 1s});
}

leat::task<> pipelines(leat::fifo_queue<point>& queue) {
  auto read = leat::read_queue(queue)
                  .map("double", [](point p) { return point{2 * p.x}; })
                  .map("parallel", [](point p) { return std::optional<point>(p); }, {.workers = 2})
                  .flat_map("repeat", [](point p) { return std::vector<point>(2, p); })
                  .shuffle({.capacity = 4})
                  .batch({.batch_size = 2})
                  .prefetch(1);
  co_await read.for_each([](const std::vector<point>&) {});
  co_await read.for_each([](std::vector<point>) -> leat::task<> { co_return; });
  leat::input_producer<point> producer([]() -> leat::task<std::vector<point>> { co_return {}; });
  leat::batcher<point> batcher({.batch_size = 2});
  batcher.add([&]() -> leat::task<bool> { co_return co_await batcher.queue().push(point{}); });
}

leat::task<> training(leat::supervisor& supervised, leat::monitored_session& session) {
  co_await supervised.managed([](leat::session&) -> leat::task<> { co_return; });
  co_await session.managed([](leat::monitored_session&) -> leat::task<> { co_return; });
  co_await session.run([]() -> leat::task<point> { co_return point{}; });
  co_await session.run([](leat::run_context&) -> leat::task<> { co_return; });
  co_await leat::with_event_writer("runs", [](leat::event_writer&) -> leat::task<> { co_return; });
}

}  // namespace

int run_local_types() {
  asio::io_context io;
  leat::async_run(io, [] { return make_point(); }, asio::detached);
  leat::block_on(make_point());
  static_cast<void>(&queues_and_primitives);
  static_cast<void>(&pipelines);
  static_cast<void>(&training);
  return leat::run([] { return tasks_and_groups(); });
}
