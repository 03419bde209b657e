#pragma once

#include <source_location>
#include <string>

#include "leat/async/scheduler/timer_heap.hpp"
#include "leat/async/task.hpp"
#include "leat/base/clock.hpp"
#include "leat/base/internal/thread_mutex.hpp"
#include "leat/sync/mutex.hpp"
#include "leat/sync/semaphore.hpp"

namespace LEAT::detail {

/// The deadlines of a delay_queue and the wait for the earliest one: the part that does not depend
/// on the type of the values.
class delay_queue_base {
 public:
  delay_queue_base(const delay_queue_base&) = delete;
  delay_queue_base& operator=(const delay_queue_base&) = delete;

  /// Closes the queue: it accepts no value any more. The remaining values are still delivered at
  /// their deadlines; then pops return an empty optional. Returns false if it was closed before.
  bool close() noexcept;

  /// Returns true after close().
  [[nodiscard]] bool is_closed() const noexcept;
  /// Returns the name that was passed to the constructor.
  [[nodiscard]] const std::string& name() const noexcept { return turn_.name(); }

 protected:
  explicit delay_queue_base(std::string name);
  ~delay_queue_base() = default;

  /// Returns the time on the clock of the current scheduler, or of the thread.
  [[nodiscard]] static time_point present() noexcept;

  /// Returns true if a pop that sleeps has to look again, because the earliest deadline was
  /// `before` the change.
  [[nodiscard]] bool has_news(time_point before) const noexcept LEAT_REQUIRES(mutex_) {
    return deadlines_.earliest() < before || is_drained();
  }
  /// Wakes the pop that sleeps, or lets the next one look before it sleeps.
  void notify() noexcept { news_.release(); }

  /// Returns true if the queue is closed and has no value.
  [[nodiscard]] bool is_drained() const noexcept LEAT_REQUIRES(mutex_) {
    return closed_ && deadlines_.empty();
  }

  /// Waits until the earliest deadline or notify(). Returns false, without a wait, if the queue is
  /// closed and has no value. Precondition: the caller holds turn_. Errors: cancelled.
  [[nodiscard]] task<bool> wait_for_deadline(std::source_location where);

  mutable thread_mutex mutex_;
  timer_heap deadlines_ LEAT_GUARDED_BY(mutex_);
  bool closed_ LEAT_GUARDED_BY(mutex_) = false;
  mutex turn_;  // held by the pop that sleeps until the earliest deadline

 private:
  semaphore news_;  // stores one notification for that pop
};

}  // namespace LEAT::detail
