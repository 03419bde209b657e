// corral: its semaphore, which also serves as a mutex, and its event, on one thread.

#include <corral/asio-standalone.h>
#include <corral/corral.h>

#include <cstddef>

#include "support/bench.hpp"
#include "support/sync_loops.hpp"

namespace {

struct kit {
  template <class T>
  using task = corral::Task<T>;
  static auto lock(corral::Semaphore& s) { return s.lock(); }
  static auto wait(corral::Event& e) { return e.get(); }
  static void set(corral::Event& e) { e.trigger(); }
  static const auto& yield() { return corral::yield; }
};
using loops = bench::sync_loops<kit>;
template <class T>
using task = corral::Task<T>;

task<void> lock_alone(long permits, long count, long& sum) {
  corral::Semaphore s(static_cast<std::size_t>(permits));
  co_await loops::lock_alone(s, count, sum);
}

task<void> contend(const bench::request& r, long tasks, bench::measured_count& turns) {
  corral::Semaphore m(0);
  bench::start_signal start(tasks, [&] { m.release(); });
  CORRAL_WITH_NURSERY(group) {
    for (long i = 0; i < tasks; ++i) {
      group.start([&]() -> task<void> { return loops::turns(r, m, turns, start); });
    }
    co_return corral::join;
  };
}

task<void> wake(long tasks, bench::measured_count& wakes) {
  bench::event_series<corral::Event> all(tasks, wakes);
  CORRAL_WITH_NURSERY(group) {
    for (long i = 0; i < tasks; ++i) {
      group.start([&]() -> task<void> { return loops::wait_for_each(all); });
    }
    co_return corral::join;
  };
}

task<void> wait_when_set(long count, long& sum) {
  corral::Event e;
  e.trigger();
  co_await loops::wait_when_set(e, count, sum);
}

task<void> work(const bench::request& r, long count, long& sum) {
  if (r.workload == "sync/mutex") return lock_alone(1, count, sum);
  if (r.workload == "sync/semaphore") return lock_alone(8, count, sum);
  if (r.workload == "sync/event/wait") return wait_when_set(count, sum);
  bench::unknown(r);
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  bench::pin(0);
  asio::io_context io(1);
  const bench::delivery each(r);
  if (each.has_turns) {
    bench::measured_count turns(r, each.tasks);
    corral::run(io, each.is_event ? wake(each.tasks, turns) : contend(r, each.tasks, turns));
    return bench::report(r, "corral", turns.nanoseconds_each(), each.unit);
  }
  long sum = 0;
  const double nanoseconds = bench::nanoseconds_each(r, [&](long count) {
    sum = 0;
    corral::run(io, work(r, count, sum));
  });
  if (sum < r.items) return 1;
  return bench::report(r, "corral", nanoseconds, each.unit);
}
