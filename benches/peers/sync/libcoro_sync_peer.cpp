// libcoro: its mutex, semaphore and event. unlock() and set() resume the waiting coroutine inside
// the call, the last one first, so tasks take turns with a mutex only if they suspend while they
// hold it.

#include <coro/coro.hpp>

#include <memory>
#include <utility>
#include <vector>

#include "support/bench.hpp"
#include "support/sync_loops.hpp"

namespace {

using pool = std::unique_ptr<coro::thread_pool>;
pool threads;

struct kit {
  template <class T>
  using task = coro::task<T>;
  static auto lock(coro::mutex& m) { return m.scoped_lock(); }
  static const auto& wait(coro::event& e) { return e; }
  static void set(coro::event& e) { e.set(); }
  static auto yield() { return threads->yield(); }
};
using loops = bench::sync_loops<kit>;
template <class T>
using task = coro::task<T>;
using semaphore = coro::semaphore<8>;

// There is no guard: acquire() and release() are coroutines.
task<void> acquire_alone(semaphore& s, long count, long& sum) {
  for (; sum < count; ++sum) {
    co_await s.acquire();
    co_await s.release();
  }
}

task<void> take_turns(const bench::request& r, coro::mutex& m, bench::measured_count& turns,
                      bench::start_signal& start) {
  co_await threads->schedule();
  co_await loops::turns(r, m, turns, start);
}

void contend(const bench::request& r, long tasks, bench::measured_count& turns) {
  coro::mutex m;
  static_cast<void>(m.try_lock());
  bench::start_signal start(tasks, [&] { m.unlock(); });
  std::vector<task<void>> all;
  for (long i = 0; i < tasks; ++i) all.push_back(take_turns(r, m, turns, start));
  coro::sync_wait(coro::when_all(std::move(all)));
}

void wake(long tasks, bench::measured_count& wakes) {
  bench::event_series<coro::event> series(tasks, wakes);
  std::vector<task<void>> all;
  for (long i = 0; i < tasks; ++i) all.push_back(loops::wait_for_each(series));
  coro::sync_wait(coro::when_all(std::move(all)));
}

void run(const bench::request& r, long count, long& sum) {
  if (r.workload.starts_with("sync/mutex")) {
    coro::mutex m;
    coro::sync_wait(loops::lock_alone(m, count, sum));
  } else if (r.workload == "sync/semaphore") {
    semaphore s(8);
    coro::sync_wait(acquire_alone(s, count, sum));
  } else if (r.workload == "sync/event/set") {
    for (coro::event e; sum < count; ++sum) {
      e.set();
      e.reset();
    }
  } else if (r.workload == "sync/event/wait") {
    coro::event e(true);
    coro::sync_wait(loops::wait_when_set(e, count, sum));
  } else {
    bench::unknown(r);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  bench::pin(0);
  threads = coro::thread_pool::make_unique({.thread_count = 1});
  const bench::delivery each(r);
  if (each.has_turns) {
    bench::measured_count turns(r, each.tasks);
    each.is_event ? wake(each.tasks, turns) : contend(r, each.tasks, turns);
    return bench::report(r, "libcoro", turns.nanoseconds_each(), each.unit);
  }
  long sum = 0;
  const double nanoseconds = bench::nanoseconds_each(r, [&](long count) {
    sum = 0;
    run(r, count, sum);
  });
  if (sum < r.items) return 1;
  return bench::report(r, "libcoro", nanoseconds, each.unit);
}
