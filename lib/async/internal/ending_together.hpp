#pragma once

#include <algorithm>
#include <span>

#include "leat/async/scheduler/scheduler_driver.hpp"

namespace LEAT::detail {

/// Schedulers whose tasks end together, such as those of a simulated process: end_tasks() of one of
/// them ends the tasks of all, newest scope first, because a task may own tasks on the others. They
/// can be used again afterwards, if no task is left.
///
/// Thread safety: of this thread.
class ending_together {
 public:
  /// `all` must outlive this object. Precondition: this thread has no other one.
  explicit ending_together(std::span<scheduler_driver* const> all) noexcept { current_ = all; }
  ~ending_together() { current_ = {}; }
  ending_together(const ending_together&) = delete;
  ending_together& operator=(const ending_together&) = delete;

  /// Returns the schedulers that end with `s`: at least `s` itself.
  [[nodiscard]] static std::span<scheduler_driver* const> with(
      scheduler_driver* const& s) noexcept {
    return contains(*s) ? current_ : std::span(&s, 1);
  }
  [[nodiscard]] static bool contains(const scheduler& s) noexcept {
    return std::ranges::any_of(current_, [&](const scheduler_driver* d) { return d == &s; });
  }
  /// Returns true if the two are the same, or end together.
  [[nodiscard]] static bool are_one(const scheduler& a, const scheduler& b) noexcept {
    return &a == &b || (!current_.empty() && contains(a) && contains(b));
  }

 private:
  static inline thread_local std::span<scheduler_driver* const> current_;
};

}  // namespace LEAT::detail
