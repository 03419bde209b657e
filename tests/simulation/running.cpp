// A coordinator or a group owns a queue_runner whose producers end, fail or are stopped, next to a
// looper. The queue is closed in each case, no pushed item is lost, and its reader receives the
// error.

#include "leat/coordination/coordinator.hpp"
#include "leat/coordination/looper.hpp"
#include "leat/coordination/queue_runner.hpp"
#include "simulation/steps.hpp"
#include "support/records/error_texts.hpp"

namespace simulation {
namespace {

using namespace std::chrono_literals;
using leat::errc;
using leat::task;
using leat::sim::world;

enum class end { says_so, out_of_range, fails, never };

struct producer {
  end how;
  int pushes;  // pushes before the end
};

struct tally {
  int pushed = 0;
  int popped = 0;
  std::size_t failed = 0;
  int closes = 0;
  int cancels = 0;
  int loop_starts = 0;
  int loop_stops = 0;
  std::string seen{};  // the consumer's error; empty at a normal end
  bool ended_by_itself = false;
};

task<bool> step(leat::fifo_queue<int>& q, producer& p, tally& t) {
  if (p.how != end::never && p.pushes-- == 0) {
    if (p.how == end::says_so) co_return false;
    if (p.how == end::out_of_range) throw leat::failure(errc::out_of_range, "no more");
    ++t.failed;
    throw leat::failure(errc::aborted, "producer");
  }
  const bool in = co_await q.push(1);
  if (in) ++t.pushed;
  if (p.how == end::never) co_await leat::sleep_for(1us);  // lets virtual time advance
  co_return in;
}

task<> consume(leat::fifo_queue<int>& q, tally& t) {
  try {
    while (co_await q.pop()) ++t.popped;
  } catch (const leat::failure& e) {
    t.seen = e.what();
  }
}

task<> count(int& n) {
  ++n;
  co_return;
}

leat::queue_runner_options random_options(world& w, leat::fifo_queue<int>& q, tally& t) {
  leat::queue_runner_options options;
  if (below(w, 2) == 0) {
    options.close_op.run = [&]() -> task<> {
      ++t.closes;
      co_await leat::sleep_for(1us);
      q.close();
    };
  }
  if (below(w, 2) == 0) {
    options.cancel_op.run = [&]() -> task<> {
      ++t.cancels;
      co_await leat::sleep_for(1us);
      q.close_and_cancel();
    };
  }
  return options;
}

leat::looper_options random_loop(world& w, tally& t) {
  leat::looper_options options;
  options.interval = 1us * below(w, 20);
  if (below(w, 2) == 0) options.missed_ticks = leat::missed_tick_policy::skip;
  options.start_loop = [&t] { return count(t.loop_starts); };
  options.stop_loop = [&t] { return count(t.loop_stops); };
  return options;
}

void check(const leat::queue_runner& runner, const leat::queue_runner_options& options,
           const leat::fifo_queue<int>& q, const tally& t, bool in_group) {
  require(runner.running_producers() == 0, "a producer is running after join()");
  require(q.is_closed(), "queue is open");
  require(t.pushed == t.popped, "an item was lost or duplicated");
  require(t.loop_starts == t.loop_stops, "starts and stops of loopers differ");
  require(t.closes <= 1 && t.cancels <= 1, "close_op or cancel_op ran twice");
  const std::size_t kept = runner.last_start().exceptions_raised().size();
  require(kept == (in_group ? t.failed : 0), "wrong number of errors of producers");
  if (!t.ended_by_itself) return;
  if (t.failed == 0) {
    require(t.seen.empty(), "end of input is reported as an error: " + t.seen);
    require(t.closes == (options.close_op.run ? 1 : 0), "close_op did not run");
    require(t.cancels == 0, "cancel_op ran at the end of the input");
  } else {
    require(t.seen.find("producer") == 0, "reason for the end of the input is missing: " + t.seen);
  }
}

// Owner: a coordinator or a group.
template <class Owner>
task<> run_under(world& w, Owner& owner, leat::queue_runner& runner, tally& t) {
  const leat::queue_runner_handle run = runner.start(owner);
  const leat::looper_options loop = random_loop(w, t);
  owner.spawn(leat::looper([]() -> task<> { co_await leat::sleep_for(3us); }, loop), "looper");
  const leat::duration limit = 1us * below(w, 50);
  try {
    co_await run.wait_for_first_enqueue(limit);
  } catch (const leat::failure&) {
  }
  co_await pause(w, 200);
  t.ended_by_itself = run.running_producers() == 0;
  owner.request_stop();
  try {
    co_await owner.join();
  } catch (const leat::failure&) {
    require(t.failed > 0, "join() throws, but no producer failed");
  }
}

}  // namespace

task<> running(world& w) {
  tally t;
  leat::fifo_queue<int> q(2, "produced");
  w.add_invariants(q);
  const leat::queue_runner_options options = random_options(w, q, t);
  leat::queue_runner runner(q, options);
  std::vector<producer> producers(1 + below(w, 3));
  for (producer& p : producers) {
    p.how = static_cast<end>(below(w, 4));
    p.pushes = static_cast<int>(below(w, 6));
    runner.add([&q, &p, &t] { return step(q, p, t); }, "producer", &any_thread(w));
  }
  leat::task_group reading;
  reading.spawn(consume(q, t), "consumer");
  const bool in_group = below(w, 2) == 0;
  if (in_group) {
    leat::task_group group("owner");
    co_await run_under(w, group, runner, t);
  } else {
    leat::coordinator coord("owner");
    co_await run_under(w, coord, runner, t);
    for (const std::string& text : leat_test::error_texts(coord.secondary_errors())) {
      require(text.starts_with("producer"), "no producer failed with: " + text);
    }
  }
  co_await reading.join();
  w.clear_invariants();
  check(runner, options, q, t, in_group);
}

}  // namespace simulation
