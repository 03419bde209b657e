#include "async/blocking/internal/worker_threads.hpp"

#include <chrono>
#include <pthread.h>
#include <thread>
#include <utility>

#include "async/blocking/futex.hpp"
#include "base/internal/fork_generation.hpp"
#include "leat/base/internal/spin_budget.hpp"

namespace LEAT::detail {

using namespace std::chrono_literals;

// The protocol of idle threads:
//
// - A thread goes idle under the hold of the lock under which it has found the list empty. An item
//   that is added later therefore finds it on the stack idle_.
// - call_thread() removes it from the stack under the lock. From then on the thread looks at the
//   list again, even if it has timed out meanwhile: `is_idle`, which the lock guards, decides.
// - `state` only ends the sleep early. It becomes `called` under the lock too, so the thread cannot
//   have ended.
// - If no thread is idle and the limit is reached, no call is needed: each thread looks at the list
//   before it goes idle.

namespace {

// Checks for a call before an idle thread sleeps, about as long as a wake-up takes.
constexpr int spins_before_sleep = 200;

}  // namespace

// A thread without work, on its stack.
struct worker_threads::idle_thread {
  static constexpr std::uint32_t awake = 0;
  static constexpr std::uint32_t called = 1;
  static constexpr std::uint32_t asleep = 2;

  std::atomic<std::uint32_t> state{awake};
  spin_budget spins;
  bool is_idle = false;  // on the stack; with the lock, and so is the next line
  idle_thread* below = nullptr;

  // Returns true if the thread sleeps: wake_one() then ends the sleep. Called with the lock, after
  // the thread was removed from the stack: without the lock it might end meanwhile.
  [[nodiscard]] bool call() noexcept {
    // relaxed: the lock orders all other accesses.
    return state.exchange(called, std::memory_order_relaxed) == asleep;
  }

  // Returns after a call, or at `end`.
  void wait_until(time_point end) noexcept {
    const auto is_called = [this]() noexcept {
      return state.load(std::memory_order_relaxed) == called;
    };
    if (spins.spin(spins_before_sleep, is_called)) return;
    std::uint32_t before = awake;
    // Fails if the call came in between. The kernel compares `state` with `asleep` before it
    // sleeps, so a call between this line and the sleep is not lost.
    state.compare_exchange_strong(before, asleep, std::memory_order_relaxed);
    while (!is_called()) {
      if (end == no_deadline) {
        sleep_while(state, asleep, nullptr);
        continue;
      }
      const duration left = end - std::chrono::steady_clock::now();
      if (left <= duration::zero()) return;
      const timespec rest{static_cast<std::time_t>(left / 1s), static_cast<long>(left % 1s / 1ns)};
      sleep_while(state, asleep, &rest);
    }
  }
};

worker_threads::worker_threads(std::string name, std::size_t limit, duration idle_limit)
    : generation_(fork_generation()),
      name_(std::move(name)),
      limit_(limit),
      idle_limit_(idle_limit) {}

bool worker_threads::is_in_its_process() const noexcept { return generation_ == fork_generation(); }

bool worker_threads::call_thread(lock_type& lock) noexcept {
  if (idle_thread* const thread = idle_) {
    idle_ = thread->below;
    thread->is_idle = false;
    --idle_count_;
    const bool sleeps = thread->call();
    lock.unlock();
    // The thread may be gone, since wake_one() uses only the address. Another thread that sleeps
    // there now wakes and sleeps again.
    if (sleeps) wake_one(&thread->state);
    return true;
  }
  if (threads_ < limit_) start_one();
  if (threads_ == 0) return false;
  lock.unlock();
  return true;
}

void worker_threads::start_one() noexcept {
  try {
    // work() first waits for the lock, which this thread holds: it cannot end before it is counted.
    std::thread([this] { work(); }).detach();
    ++threads_;
  } catch (...) {  // those that run do the work
  }
}

void worker_threads::work() noexcept {
  ::pthread_setname_np(::pthread_self(), name_.substr(0, 15).c_str());
  idle_thread self;
  lock_type lock(mutex_);
  do {
    while (has_items()) execute_next(lock);
  } while (wait_for_call(lock, self));
  const bool is_last = --threads_ == 0 && ends_;
  lock.unlock();
  if (is_last) delete this;
}

// Returns false if the thread is to end.
bool worker_threads::wait_for_call(lock_type& lock, idle_thread& self) noexcept {
  if (ends_) return false;
  const bool is_limited = idle_limit_ > duration::zero();
  const time_point end = is_limited ? std::chrono::steady_clock::now() + idle_limit_ : no_deadline;
  self.below = std::exchange(idle_, &self);
  self.is_idle = true;
  ++idle_count_;
  self.state.store(idle_thread::awake, std::memory_order_relaxed);
  lock.unlock();
  self.wait_until(end);
  lock.lock();
  if (!self.is_idle) return !ends_ || has_items();
  remove_idle(self);
  return false;
}

void worker_threads::remove_idle(idle_thread& thread) noexcept {
  idle_thread** place = &idle_;
  while (*place != &thread) place = &(*place)->below;
  *place = thread.below;
  --idle_count_;
}

void worker_threads::end_and_delete() noexcept {
  lock_type lock(mutex_);
  ends_ = true;
  idle_count_ = 0;
  for (idle_thread* thread = std::exchange(idle_, nullptr); thread;) {
    idle_thread& first = *std::exchange(thread, thread->below);
    first.is_idle = false;
    if (first.call()) wake_one(&first.state);  // it continues when it has the lock
  }
  const bool is_last = threads_ == 0;
  lock.unlock();
  if (is_last) delete this;
}

}  // namespace LEAT::detail
