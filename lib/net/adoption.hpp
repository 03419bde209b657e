#pragma once

#include <string>

#include "leat/async/scheduler/scheduler.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/descriptor.hpp"

namespace LEAT::detail {

/// A descriptor that a program passes to adopt(), and the scheduler for it. Closes the descriptor
/// unless it is released.
class adoption {
 public:
  /// `what`: "connection" or "listener". `on`: null for the scheduler of the calling task.
  /// Errors: invalid_argument; failed_precondition outside a task. The descriptor is then closed.
  adoption(int number, scheduler* on, const std::string& what)
      : socket_(checked(number, what), "adopt"), scheduler_(on ? on : scheduler::current()) {
    if (scheduler_) return;
    throw failure(errc::failed_precondition,
                  what + " adopted outside a task: pass the scheduler to adopt()");
  }

  [[nodiscard]] descriptor& socket() noexcept { return socket_; }
  [[nodiscard]] scheduler& get_scheduler() const noexcept { return *scheduler_; }

 private:
  static int checked(int number, const std::string& what) {
    if (number >= 0) return number;
    throw failure(errc::invalid_argument, "descriptor " + std::to_string(number) +
                                              " adopted as a " + what + ": it is not open");
  }

  descriptor socket_;
  scheduler* const scheduler_;
};

}  // namespace LEAT::detail
