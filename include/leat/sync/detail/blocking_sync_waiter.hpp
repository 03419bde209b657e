#pragma once

#include <cstddef>
#include <source_location>

#include "leat/async/detail/thread_record.hpp"
#include "leat/async/wait_limit.hpp"
#include "leat/base/detail/parker.hpp"
#include "leat/sync/detail/sync_waiter.hpp"

namespace leat::detail {

/// An operation on a primitive in which an OS thread sleeps.
class blocking_sync_waiter : public sync_waiter {
 public:
  blocking_sync_waiter(sync_base& object, const kind& k, std::size_t request,
                       const std::source_location& where) noexcept;

  /// Returns true if a stop of the thread or of `limit` was requested; then the operation is not
  /// tried.
  [[nodiscard]] static bool stop_requested(const wait_limit* limit) noexcept {
    return thread_record::stop_requested() || (limit && limit->stop().stop_requested());
  }

  /// Starts the operation and sleeps until it ends: by itself, at `limit` if one is set, or by a
  /// stop of the thread's coordinator.
  void sleep(const wait_limit* limit);

 private:
  friend class sync_waiter;
  struct stop;
  static void unpark(work_item& item) noexcept;
  const task_id thread_ = thread_record::current_id();  // none if the thread has no record
  parker parker_;
};

}  // namespace leat::detail
