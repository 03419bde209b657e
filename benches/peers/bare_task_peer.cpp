// The least that tasks can take: coroutines with malloc'ed frames, without stop, threads, names and
// errors. An awaited one transfers control to its caller, and a spawned one is resumed from a list.
// In task/timers, only the heap of timers.

#include <coroutine>
#include <exception>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "support/bench.hpp"
#include "support/task_loops.hpp"

namespace {

template <class T>
struct result {
  T value{};
  void return_value(T v) { value = std::move(v); }
};
template <>
struct result<void> {
  void return_void() {}
};

template <class T>
class task {
 public:
  struct promise_type : result<T> {
    struct final_awaiter {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> done) noexcept {
        return done.promise().caller;
      }
      void await_resume() noexcept {}
    };

    task get_return_object() {
      return task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    final_awaiter final_suspend() noexcept { return {}; }
    void unhandled_exception() { std::terminate(); }

    std::coroutine_handle<> caller = std::noop_coroutine();
  };

  task(task&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  ~task() {
    if (frame_) frame_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) noexcept {
    frame_.promise().caller = caller;
    return frame_;
  }
  T await_resume() {
    if constexpr (!std::is_void_v<T>) return std::move(frame_.promise().value);
  }

  void run() { frame_.resume(); }

 private:
  explicit task(std::coroutine_handle<promise_type> frame) : frame_(frame) {}

  std::coroutine_handle<promise_type> frame_;
};

using loops = bench::task_loops<task>;

void spawn_and_join(long count, long at_once, long& sum) {
  std::vector<task<void>> ready;
  ready.reserve(static_cast<std::size_t>(at_once));
  for (long done = 0; done < count; done += at_once) {
    for (long i = 0; i < at_once; ++i) ready.push_back(loops::add_one(sum));
    for (task<void>& t : ready) t.run();
    ready.clear();
  }
}

void timers(long count, long& sum) {
  using timer = std::pair<long, long>;  // its time, and the task that waits
  std::priority_queue<timer, std::vector<timer>, std::greater<>> heap;
  for (long i = 0; i < count; ++i) heap.emplace(bench::sleep_of(i).count(), i);
  for (; !heap.empty(); heap.pop()) sum += heap.top().second >= 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  bench::pin(0);
  long sum = 0;
  const auto run = [&](long count) {
    if (r.workload == "task/spawn-one") {
      spawn_and_join(count, 1, sum);
    } else if (r.workload == "task/spawn-and-join") {
      spawn_and_join(count, 1000, sum);
    } else if (r.workload == "task/spawn-and-join/million") {
      spawn_and_join(count, count, sum);
    } else if (r.workload == "task/timers") {
      timers(count, sum);
    } else {
      loops::loop(r, count, sum).run();
    }
  };
  if (r.workload == "task/spawn-and-join/million") run(r.items);  // as in leat_task_bench
  const double nanoseconds = bench::nanoseconds_each(r, run);
  if (sum < r.items) return 1;
  return bench::report(r, "bare coroutines", nanoseconds, "ns/task");
}
