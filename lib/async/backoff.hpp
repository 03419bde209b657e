#pragma once

#include <cstddef>
#include <exception>
#include <optional>

#include "leat/async/retry.hpp"
#include "leat/base/random.hpp"

namespace leat::detail {

/// Counts the failures of something that is tried again, and says how long to wait.
class backoff {
 public:
  /// Errors: invalid_argument for a policy without attempts, or with a delay below 0.
  explicit backoff(retry_policy policy);

  /// Whether failures of this kind are tried again at all. Thread safety: thread-safe.
  [[nodiscard]] bool is_retryable(const std::exception_ptr& error) const noexcept;

  /// After a failure: the delay before the next attempt, which on_retry is told. None: it leaves.
  [[nodiscard]] std::optional<duration> next(const std::exception_ptr& error);

  /// It went well: the next failure is the first one again.
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

}  // namespace leat::detail
