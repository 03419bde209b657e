// A coordinator of tasks that end, fail, stop it or wait. join() throws the first error, and no
// task outlives it.

#include <set>

#include "leat/coordination/coordinator.hpp"
#include "leat/coordination/queue_runner.hpp"
#include "simulation/steps.hpp"
#include "support/records/error_texts.hpp"

namespace simulation {
namespace {

using namespace std::chrono_literals;
using leat::errc;
using leat::task;
using leat::sim::world;

constexpr int clean_stop = -1;

struct events {
  int ended = 0;
  // The tasks that tried to stop the coordinator before it was stopped: numbers of failing tasks,
  // or clean_stop. Tasks of several threads may overtake each other, so the cause is one of these.
  std::vector<int> first;

  void sets_out(const leat::coordinator& coord, int who) {
    if (!coord.should_stop()) first.push_back(who);
  }
};

task<> member(world& w, leat::coordinator& coord, leat::fifo_queue<int>& q, events& seen,
              int number) {
  struct at_end {
    events& e;
    ~at_end() { ++e.ended; }
  } end{seen};
  co_await pause(w, 20);
  switch (below(w, 6)) {
    case 0: break;
    case 1:
      seen.sets_out(coord, number);
      throw leat::failure(errc::aborted, "task " + std::to_string(number));
    case 2:
      seen.sets_out(coord, clean_stop);
      coord.request_stop();
      break;
    case 3: co_await coord.wait_for_stop(1us * below(w, 50)); break;
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
  w.add_invariants(q);
  events seen;
  leat::coordinator coord("simulated");
  w.add_invariants(coord);
  leat::queue_runner runner(q);
  int produced = 0;
  const bool with_runner = below(w, 2) == 0;
  if (with_runner) {
    for (int i = 0; i < 2; ++i) {
      runner.add([&q, &produced, limit = 1 + static_cast<int>(below(w, 10))]() mutable {
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
  const int members = static_cast<int>(below(w, 6));
  for (int i = 0; i < members; ++i) {
    coord.spawn_on(any_thread(w), member(w, coord, q, seen, i), "member " + std::to_string(i));
  }
  // Stops the coordinator, because members and producers could wait for each other indefinitely.
  coord.spawn([](leat::coordinator& c, events& s) -> task<> {
    co_await leat::sleep_for(100us);
    s.sets_out(c, clean_stop);
    c.request_stop();
  }(coord, seen));
  std::string what;
  try {
    co_await coord.join({.grace = 1s});
  } catch (const leat::failure& e) {
    what = e.what();
  }
  w.clear_invariants();
  require(coord.live_tasks() == 0, "a task is running after join()");
  require(seen.ended == members, "a task has not finished after join()");
  require(runner.running_producers() == 0, "a producer is running after join()");
  require(!seen.first.empty(), "join() returned before the stop");
  require(std::any_of(seen.first.begin(), seen.first.end(),
                      [&](int who) {
                        return who == clean_stop ? what.empty()
                                                 : what.find("task " + std::to_string(who)) == 0;
                      }),
          what.empty() ? "join() does not throw the first error"
                       : "join() throws an error that was not first: " + what);
  std::set<std::string> failures{what};
  for (const std::string& text : leat_test::error_texts(coord.secondary_errors())) {
    require(text.starts_with("task "), "no task failed with: " + text);
    require(failures.insert(text).second, "error is kept twice: " + text);
  }
}

}  // namespace simulation
