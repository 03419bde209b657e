#pragma once

#include <cstdint>
#include <exception>
#include <limits>
#include <optional>
#include <utility>

#include "async/internal/backoff.hpp"

namespace LEAT::detail {

/// Decides which failures of a monitored session are tried again, and when.
///
/// Invariant: the failures since the last run that has reached a higher step than all runs before
/// it are counted. A run that only repeats steps that a failure had undone does not reset the
/// count, so a job that repeatedly loses the same steps ends.
///
/// Thread safety: is_retryable() is thread-safe, everything else is thread-compatible.
class session_restarts {
 public:
  /// Errors: those of backoff.
  explicit session_restarts(retry_policy policy) : delays_(std::move(policy)) {}

  /// Returns true if such a failure is tried again.
  [[nodiscard]] bool is_retryable(const std::exception_ptr& error) const noexcept {
    return delays_.is_retryable(error);
  }
  /// Counts a failure. Returns the delay before the next attempt, or nothing if there is none.
  [[nodiscard]] std::optional<duration> next_delay(const std::exception_ptr& error) {
    return delays_.next(error);
  }
  /// Called after a run without an error, with the step it has reached, if steps are known.
  void record_success(std::optional<std::int64_t> step) {
    if (step && *step <= furthest_step_) return;
    if (step) furthest_step_ = *step;
    delays_.reset();
  }

 private:
  backoff delays_;
  std::int64_t furthest_step_ = std::numeric_limits<std::int64_t>::min();
};

}  // namespace LEAT::detail
