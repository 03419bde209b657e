#pragma once

#include <cstddef>
#include <exception>
#include <optional>

#include "leat/async/retry.hpp"
#include "leat/base/error.hpp"
#include "leat/base/random.hpp"

namespace LEAT::detail {

/// Counts the failures of an operation that is retried, and determines the delays.
class backoff {
 public:
  /// Errors: invalid_argument for a policy without attempts, or with a delay below 0.
  explicit backoff(retry_policy policy);

  /// Returns true if failures of this kind are retried. Thread safety: thread-safe.
  [[nodiscard]] bool is_retryable(const std::exception_ptr& error) const noexcept;

  /// Called after a failure. Returns the delay before the next attempt, which is also passed to
  /// on_retry, or nothing if there are no more attempts.
  [[nodiscard]] std::optional<duration> next(const std::exception_ptr& error);

  /// Returns the number of failures of this kind.
  [[nodiscard]] std::size_t failures() const noexcept { return failures_; }
  /// Returns true if no attempt follows the next failure.
  [[nodiscard]] bool is_last() const noexcept { return failures_ + 1 >= policy_.attempts; }
  /// Returns true if next() returned nothing because all attempts have failed.
  [[nodiscard]] bool exhausted() const noexcept { return failures_ >= policy_.attempts; }

  /// Called after a success: the next failure counts as the first.
  void reset() noexcept {
    failures_ = 0;
    delay_ = policy_.first_delay;
  }

 private:
  const retry_policy policy_;
  random_engine random_;
  std::size_t failures_ = 0;
  duration delay_;
};

/// The `cancelled` of a retry() that was stopped after an attempt had failed. Its message has the
/// error of that attempt, and a time limit around the retry() adds it to its own message.
class retry_stopped : public failure {
 public:
  using failure::failure;
};

}  // namespace LEAT::detail
