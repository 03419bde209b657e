#pragma once

#include <cstddef>
#include <source_location>

#include "leat/async/detail/thread_record.hpp"
#include "leat/async/wait_limit.hpp"
#include "leat/base/detail/parker.hpp"
#include "leat/queue/detail/queue_waiter.hpp"

namespace leat::detail {

/// An operation on a queue in which an OS thread sleeps.
class blocking_queue_waiter : public queue_waiter {
 public:
  blocking_queue_waiter(queue_base& queue, role r, void* items, std::size_t count,
                        const std::source_location& where) noexcept;

  /// Returns true if a stop of the thread or of `limit` was requested; then the operation is not
  /// tried.
  [[nodiscard]] static bool stop_requested(const wait_limit* limit) noexcept {
    return thread_record::stop_requested() || (limit && limit->stop().stop_requested());
  }

  /// Starts the operation and sleeps until it ends: by itself, at `limit` if one is set, or by a
  /// stop of the thread's coordinator. Errors: those of queue_base::begin().
  void sleep(const wait_limit* limit);

 private:
  friend class queue_waiter;
  struct stop;
  static void unpark(work_item& item) noexcept;
  parker parker_;
};

}  // namespace leat::detail
