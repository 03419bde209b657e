// A coordinator over tasks that end, fail, stop it or wait; the first error is the one that join()
// throws, and nothing lives after it.

#include <optional>

#include "leat/core/error.hpp"
#include "leat/core/sleep.hpp"
#include "leat/core/task_group.hpp"
#include "leat/core/this_task.hpp"
#include "leat/sync/coordinator.hpp"
#include "leat/sync/fifo_queue.hpp"
#include "leat/sync/queue_runner.hpp"
#include "simulation/scenarios.hpp"

namespace simulation {
namespace {

using namespace std::chrono_literals;
using leat::errc;
using leat::task;
using leat::sim::world;

struct events {
  int ended = 0;
  std::optional<int> first_error;  // number of the task whose error came first; -1: a clean stop
};

task<> member(world& w, leat::coordinator& coord, leat::fifo_queue<int>& q, events& seen,
              int number) {
  struct at_end {
    events& e;
    ~at_end() { ++e.ended; }
  } end{seen};
  co_await leat::sleep_for(1us * w.random().below(20));
  switch (w.random().below(6)) {
    case 0: break;
    case 1:
      if (!seen.first_error) seen.first_error = number;
      throw leat::failure(errc::aborted, "task " + std::to_string(number));
    case 2:
      if (!seen.first_error) seen.first_error = -1;
      coord.request_stop();
      break;
    case 3: co_await coord.wait_for_stop(1us * w.random().below(50)); break;
    case 4: co_await q.pop(); break;
    case 5: {
      leat::task_group inner("inner");
      inner.spawn([]() -> task<> { co_await leat::sleep_for(30us); }());
      co_await inner.join();
      break;
    }
  }
}

}  // namespace

task<> coordination(world& w) {
  leat::fifo_queue<int> q(2, "produced");
  w.watch(q);
  events seen;
  leat::coordinator coord({.name = "simulated"});
  leat::queue_runner runner(q);
  int produced = 0;
  const bool with_runner = w.random().below(2) == 0;
  if (with_runner) {
    for (int i = 0; i < 2; ++i) {
      runner.add([&q, &produced, limit = 1 + static_cast<int>(w.random().below(10))]() mutable {
        return [](leat::fifo_queue<int>& to, int& n, int& left) -> task<bool> {
          if (left-- == 0) co_return false;
          const bool in = co_await to.push(int{1});
          if (in) ++n;
          co_return in;
        }(q, produced, limit);
      });
    }
    runner.start(coord, w.thread(w.threads() - 1));
  }
  const int members = static_cast<int>(w.random().below(6));
  for (int i = 0; i < members; ++i) {
    coord.spawn_on(w.thread(static_cast<std::size_t>(w.random().below(w.threads()))),
                   member(w, coord, q, seen, i), "member " + std::to_string(i));
  }
  // Somebody who ends it all, lest members and producers wait for each other.
  coord.spawn([](leat::coordinator& c, events& s) -> task<> {
    co_await leat::sleep_for(100us);
    if (c.should_stop()) co_return;
    s.first_error = -1;
    c.request_stop();
  }(coord, seen));
  std::string what;
  try {
    co_await coord.join({.grace = 1s});
  } catch (const leat::failure& e) {
    what = e.what();
  }
  w.unwatch();
  require(coord.live_tasks() == 0, "a task lives after join()");
  require(seen.ended == members, "a task has not ended after join()");
  require(runner.running() == 0, "a producer lives after join()");
  require(seen.first_error.has_value(), "join() came back before the stop");
  if (*seen.first_error < 0) {
    require(what.empty(), "a clean stop came first, yet join() throws: " + what);
  } else {
    require(what.find("task " + std::to_string(*seen.first_error)) == 0,
            "the first error is of task " + std::to_string(*seen.first_error) +
                ", yet join() throws: " + what);
  }
}

}  // namespace simulation
