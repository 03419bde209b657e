#pragma once

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// Points at which a simulated thread may be preempted: before it locks a mutex, and after it
/// unlocks one.
///
/// A simulation runs several threads in turn on one. Between two suspension points it switches
/// threads only at the points that this class marks, such as the library's locks. On a thread that
/// simulates nothing, each point costs one test of a thread-local pointer.
class preemption_hook {
 public:
  /// The functions and state that a simulation installs on its thread. It never switches to another
  /// simulated thread while a lock is held.
  struct handler {
    void (*may_preempt)(handler& self) noexcept;
    unsigned held = 0;  ///< locks that the running simulated thread holds
  };

  static void before_lock() noexcept {
    if (current_) [[unlikely]] {
      point();
      if (current_) ++current_->held;
    }
  }
  static void after_unlock() noexcept {
    if (current_) [[unlikely]] {
      if (current_->held > 0) --current_->held;
      point();
    }
  }

  /// A preemption point for the program to call.
  static void point() noexcept {
    if (current_ && current_->held == 0) current_->may_preempt(*current_);
  }

  /// True on a thread that simulates others.
  [[nodiscard]] static bool is_simulated() noexcept { return current_ != nullptr; }

  /// Installs `l`, or none if null; returns the previous handler.
  static handler* install(handler* l) noexcept {
    handler* const before = current_;
    current_ = l;
    return before;
  }

  /// Prevents a switch to another simulated thread within its scope, for code that is identified by
  /// its OS thread, such as a stop callback whose end another thread awaits.
  class disabled {
   public:
    disabled() noexcept : handler_(current_) {
      if (handler_) ++handler_->held;
    }
    ~disabled() {
      if (handler_) --handler_->held;
    }
    disabled(const disabled&) = delete;
    disabled& operator=(const disabled&) = delete;

   private:
    handler* const handler_;
  };

 private:
  static constinit thread_local handler* current_
#if defined(__GNUC__)
      __attribute__((tls_model("initial-exec")))
#endif
      ;
};

}  // namespace LEAT::detail
