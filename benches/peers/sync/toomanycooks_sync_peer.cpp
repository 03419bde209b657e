// TooManyCooks: its mutex, semaphore and event. Each thread is an executor for one thread, which
// does not poll before it sleeps, or polls 400 times with the suffix /spins of the workload.

#define TMC_IMPL
#include <tmc/all_headers.hpp>

#include <chrono>
#include <cstddef>
#include <thread>
#include <utility>

#include "support/bench.hpp"
#include "support/count.hpp"
#include "support/sync_loops.hpp"

namespace {

struct kit {
  template <class T>
  using task = tmc::task<T>;
  static auto lock(tmc::mutex& m) { return m.lock_scope(); }
  static auto lock(tmc::semaphore& s) { return s.acquire_scope(); }
  static auto& wait(tmc::manual_reset_event& e) { return e; }
  static void set(tmc::manual_reset_event& e) { e.set(); }
  static auto yield() { return tmc::yield(); }
};
using loops = bench::sync_loops<kit>;
template <class T>
using task = tmc::task<T>;

void start(tmc::ex_cpu_st& executor, std::size_t cpu, std::size_t spins) {
  executor.set_spins(spins).set_thread_init_hook([cpu](std::size_t) { bench::pin(cpu); }).init();
}

// Its instructions are counted alone. Valgrind does not support the system call with which an idle
// executor sleeps, so that the executor polls.
task<void> counted(task<void> t) {
  bench::toggle_count();
  co_await std::move(t);
  bench::toggle_count();
}

void wait(tmc::ex_cpu_st& executor, task<void> t) {
  tmc::post_waitable(executor, counted(std::move(t))).get();
}

task<void> mutex_alone(long count, long& sum) {
  tmc::mutex m;
  co_await loops::lock_alone(m, count, sum);
}

task<void> semaphore_alone(long count, long& sum) {
  tmc::semaphore s(8);
  co_await loops::lock_alone(s, count, sum);
}

task<void> contend(const bench::request& r, long tasks, bench::measured_count& turns) {
  tmc::mutex m;
  static_cast<void>(m.try_lock());
  bench::start_signal start(tasks, [&] { m.unlock(); });
  auto all = tmc::fork_group();
  for (long i = 0; i < tasks; ++i) all.fork(loops::turns(r, m, turns, start));
  co_await std::move(all);
}

task<void> wake(long tasks, bench::measured_count& wakes) {
  bench::event_series<tmc::manual_reset_event> series(tasks, wakes);
  auto all = tmc::fork_group();
  for (long i = 0; i < tasks; ++i) all.fork(loops::wait_for_each(series));
  co_await std::move(all);
}

task<void> set_and_reset(long count, long& sum) {
  for (tmc::manual_reset_event e; sum < count; ++sum) {
    e.set();
    e.reset();
  }
  co_return;
}

task<void> wait_when_set(long count, long& sum) {
  tmc::manual_reset_event e(true);
  co_await loops::wait_when_set(e, count, sum);
}

task<void> work(const bench::request& r, long count, long& sum) {
  if (r.workload.starts_with("sync/mutex")) return mutex_alone(count, sum);
  if (r.workload == "sync/semaphore") return semaphore_alone(count, sum);
  if (r.workload == "sync/event/set") return set_and_reset(count, sum);
  if (r.workload == "sync/event/wait") return wait_when_set(count, sum);
  bench::unknown(r);
}

int measure_two_threads(const bench::request& r, tmc::ex_cpu_st& first, std::size_t spins) {
  tmc::ex_cpu_st second;
  start(second, 1, spins);
  bench::measured_count turns(r, 1);
  tmc::mutex m;
  static_cast<void>(m.try_lock());
  auto one = tmc::post_waitable(first, loops::take_turns(m, turns));
  auto other = tmc::post_waitable(second, loops::take_turns(m, turns));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // both wait
  m.unlock();
  one.get();
  other.get();
  return bench::report(r, spins > 0 ? "TooManyCooks, 400 spins" : "TooManyCooks",
                       turns.nanoseconds_each(), "ns/lock");
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  const std::size_t spins = r.workload.ends_with("/spins") ? 400 : 0;
  tmc::ex_cpu_st executor;
  start(executor, 0, spins);
  if (r.workload.starts_with("sync/hand-over/2-threads")) {
    return measure_two_threads(r, executor, spins);
  }
  const bench::delivery each(r);
  if (each.has_turns) {
    bench::measured_count turns(r, each.tasks);
    wait(executor, each.is_event ? wake(each.tasks, turns) : contend(r, each.tasks, turns));
    return bench::report(r, "TooManyCooks", turns.nanoseconds_each(), each.unit);
  }
  long sum = 0;
  const double nanoseconds = bench::nanoseconds_each(r, [&](long count) {
    sum = 0;
    wait(executor, work(r, count, sum));
  });
  if (sum < r.items) return 1;
  return bench::report(r, "TooManyCooks", nanoseconds, each.unit);
}
