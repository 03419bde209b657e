#include "async/blocking/blocking_threads.hpp"

#include <chrono>
#include <mutex>
#include <ostream>
#include <unistd.h>
#include <utility>

#include "async/dump/internal/process_snapshot.hpp"
#include "base/text/text_in_seconds.hpp"
#include "leat/async/task_context.hpp"
#include "leat/async/task_scope.hpp"

namespace LEAT::detail {
namespace {

constexpr auto idle_limit = std::chrono::seconds(10);

constexpr metric_family threads_metric{"leat_blocking_pool_max_threads", "gauge",
                                       "Threads that the pool starts at most."};
constexpr metric_family started_threads_metric{"leat_blocking_pool_threads", "gauge",
                                               "Threads that exist."};
constexpr metric_family busy_threads_metric{"leat_blocking_pool_busy_threads", "gauge",
                                            "Threads that run a function."};
constexpr metric_family queued_calls_metric{"leat_blocking_pool_waiting_calls", "gauge",
                                            "Functions that wait for a thread."};

std::string title_of(const std::string& pool) {
  return pool.empty() ? "blocking pool" : "blocking pool '" + pool + "'";
}

}  // namespace

blocking_threads::blocking_threads(const blocking_pool_options& options)
    : worker_threads(options.name.empty() ? "leat blocking" : options.name, options.threads,
                     idle_limit),
      name_(options.name) {
  registration_.add();
}

bool blocking_threads::submit(blocking_call& call) noexcept {
  lock_type lock(mutex());
  call.previous_ = last_;
  call.following_ = nullptr;
  (last_ ? last_->following_ : first_) = &call;
  last_ = &call;
  ++waiting_;
  if (!call_thread(lock)) {
    remove(call);
    return false;
  }
  return true;
}

void blocking_threads::remove(blocking_call& call) noexcept {
  (call.previous_ ? call.previous_->following_ : first_) = call.following_;
  (call.following_ ? call.following_->previous_ : last_) = call.previous_;
  --waiting_;
}

bool blocking_threads::withdraw(blocking_call& call) noexcept {
  const lock_type lock(mutex());
  if (!call.is_waiting()) return false;
  remove(call);
  return true;
}

void blocking_threads::execute_next(lock_type& lock) noexcept {
  blocking_call& call = *first_;
  remove(call);
  call.set_running();
  call.started_ = std::chrono::steady_clock::now();
  call.thread_ = ::gettid();
  lock.unlock();
  call.execute();  // the last access: its coroutine may resume and destroy it
  lock.lock();
}

void blocking_threads::release() noexcept {
  // acq_rel: all accesses are over.
  if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1) end_and_delete();
}

blocking_pool_statistics blocking_threads::statistics() const {
  const lock_type lock(mutex());
  return {thread_count(), thread_count() - idle_count(), waiting_};
}

void blocking_threads::describe(const blocking_call& call, std::ostream& out) const {
  if (!name_.empty()) out << "in pool '" << name_ << "' ";
  const lock_type lock(mutex());
  if (call.is_waiting()) {
    out << "(waits for a thread, " << thread_count() - idle_count() << " of " << limit()
        << " busy)";
    return;
  }
  const time_point now = std::chrono::steady_clock::now();
  const auto ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(now - call.started_).count();
  out << "(running for " << ms / 1000 << '.' << ms / 100 % 10 << " s on thread " << call.thread_;
  if (call.end_requested_)
    out << ", asked to stop " << text_in_seconds(now - call.end_requested_at_) << " ago";
  out << ')';
}

bool blocking_threads::report(const void* object, live_object::access how, object_state& state) {
  if (how != live_object::access::any && how != live_object::access::metrics) return false;
  const auto& self = *static_cast<const blocking_threads*>(object);
  state.name = self.name_;
  if (how == live_object::access::metrics) {
    if (!self.is_in_its_process()) return true;
    const blocking_pool_statistics s = self.statistics();
    state.samples = {{&threads_metric, {self.limit()}},
                     {&started_threads_metric, {s.threads}},
                     {&busy_threads_metric, {s.busy}},
                     {&queued_calls_metric, {s.waiting}}};
    return true;
  }
  state.words = title_of(self.name_);
  if (!self.is_in_its_process()) return true;
  std::size_t busy = 0;
  for (bool listed = false; !listed;) {
    lock_type lock(self.mutex());
    const std::size_t count = self.waiting_;
    listed = count <= state.waiting.capacity();
    for (const blocking_call* c = self.first_; listed && c; c = c->following_) {
      const task_context* const task = c->task();
      waiting_operation& w = state.waiting.emplace_back();
      w.verb = c->what().verb;
      w.selected = c->is_selected();
      w.who = task ? waiting_operation::waiter::task : waiting_operation::waiter::coroutine;
      if (task) w.task = task->id();
      w.wait = c;
      w.at = c->where();
    }
    busy = self.thread_count() - self.idle_count();
    lock.unlock();
    if (!listed) state.waiting.reserve(count + count / 2);  // not under the lock
  }
  state.words +=
      " (" + std::to_string(busy) + " of " + std::to_string(self.limit()) + " threads busy)";
  return true;
}

}  // namespace LEAT::detail
