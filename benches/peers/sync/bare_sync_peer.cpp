// The least that a mutex and an event for tasks can take: coroutines with malloc'ed frames, a list
// of those that wait, and a list of those that run next. They have no threads, stop, names and
// errors.

#include <coroutine>
#include <exception>
#include <utility>

#include "support/bench.hpp"
#include "support/sync_loops.hpp"

namespace {

struct waiter {
  waiter* next = nullptr;
  std::coroutine_handle<> frame;
};

struct waiters {
  waiter* first = nullptr;
  waiter** end = &first;

  [[nodiscard]] bool empty() const { return first == nullptr; }
  void push(waiter& w) {
    w.next = nullptr;
    *end = &w;
    end = &w.next;
  }
  waiter* pop() {
    waiter* const w = first;
    first = w->next;
    if (!first) end = &first;
    return w;
  }
  void append(waiters& others) {
    if (others.empty()) return;
    *end = others.first;
    end = others.end;
    others.first = nullptr;
    others.end = &others.first;
  }
};

waiters ready;

void run() {
  while (!ready.empty()) ready.pop()->frame.resume();
}

template <class T>
struct task {
  struct promise_type {
    task get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void unhandled_exception() { std::terminate(); }
    void return_void() {}
  };
};

struct mutex {
  struct guard {
    explicit guard(mutex& m) : m_(m) {}
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;
    ~guard() {
      m_.waiting.empty() ? static_cast<void>(m_.locked = false) : ready.push(*m_.waiting.pop());
    }
    mutex& m_;
  };
  struct operation : waiter {
    explicit operation(mutex& m) : m_(m) {}
    bool await_ready() { return !std::exchange(m_.locked, true); }
    void await_suspend(std::coroutine_handle<> h) {
      frame = h;
      m_.waiting.push(*this);
    }
    guard await_resume() { return guard(m_); }
    mutex& m_;
  };

  waiters waiting;
  bool locked = false;
};

struct event {
  struct operation : waiter {
    explicit operation(event& e) : e_(e) {}
    bool await_ready() { return e_.is_set; }
    void await_suspend(std::coroutine_handle<> h) {
      frame = h;
      e_.waiting.push(*this);
    }
    void await_resume() {}
    event& e_;
  };

  waiters waiting;
  bool is_set = false;
};

struct kit {
  template <class T>
  using task = ::task<T>;
  static auto lock(mutex& m) { return mutex::operation(m); }
  static auto wait(event& e) { return event::operation(e); }
  static void set(event& e) {
    e.is_set = true;
    ready.append(e.waiting);
  }
  static std::suspend_never yield() { return {}; }
};
using loops = bench::sync_loops<kit>;

void contend(long tasks, bench::measured_count& turns) {
  mutex m;
  m.locked = true;
  for (long i = 0; i < tasks; ++i) loops::take_turns(m, turns);
  {
    const mutex::guard first(m);
  }
  run();
}

void wake(long tasks, bench::measured_count& wakes) {
  bench::event_series<event> all(tasks, wakes);
  for (long i = 0; i < tasks; ++i) loops::wait_for_each(all);
  run();
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  bench::pin(0);
  const bench::delivery each(r);
  if (!each.has_turns) bench::unknown(r);
  bench::measured_count turns(r, each.tasks);
  each.is_event ? wake(each.tasks, turns) : contend(each.tasks, turns);
  return bench::report(r, "bare coroutines", turns.nanoseconds_each(), each.unit);
}
