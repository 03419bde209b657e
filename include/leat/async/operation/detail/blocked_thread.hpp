#pragma once

#include <source_location>
#include <utility>

#include "leat/async/internal/thread_record.hpp"
#include "leat/async/operation/operation.hpp"
#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/wait_limit.hpp"
#include "leat/base/internal/assert.hpp"
#include "leat/base/internal/parker.hpp"

namespace LEAT::detail {

/// An OS thread that sleeps in an operation.
class blocked_thread {
 public:
  blocked_thread(waiter& w, const wait_limit* limit) noexcept;

  /// Returns true if a stop of the thread or of `limit` was requested; then nothing is tried.
  [[nodiscard]] static bool stop_requested(const wait_limit* limit) noexcept {
    return thread_record::stop_requested() || (limit && limit->stop().stop_requested());
  }
  /// Sleeps until the wait, which has begun, ends: by itself, at the limit, or by a stop of the
  /// thread's coordinator.
  void sleep();

 private:
  friend class leat::waiter;
  waiter& waiter_;
  const wait_limit* const limit_;
  const task_id id_ = thread_record::current_id();  // none if the thread has no record
  const thread_record::blocked here_;
  parker parker_;
};

/// Performs an operation and blocks the OS thread until it has ended or `limit`, if there is one,
/// ends it.
template <operation Operation, class... Arguments>
result_of<Operation> block_on_operation(const wait_limit* limit, const std::source_location& where,
                                        Arguments&&... arguments) {
  LEAT_ASSERT(scheduler::current() == nullptr,
              "blocking operation on a scheduler thread would deadlock: use co_await");
  Operation operation{std::forward<Arguments>(arguments)...};
  const bool untried = !is_empty_operation_of(operation) && blocked_thread::stop_requested(limit);
  if (!untried && operation.try_complete(caller{nullptr, where})) {
    return result_at_once(operation);
  }
  typename Operation::waiter w(operation, where);
  blocked_thread self(w, limit);
  if (untried) {
    w.set_outcome(wait_outcome::cancelled);
  } else if (!Operation::begin(w)) {
    self.sleep();
  }
  w.throw_on_failure();
  return result_after_wait(operation, w);
}

}  // namespace LEAT::detail
