#include "async/internal/backoff.hpp"

#include <algorithm>
#include <utility>

#include "base/internal/error_text.hpp"

namespace LEAT::detail {
namespace {

// Returns a random duration between half of `delay` and `delay`.
duration apply_jitter(duration delay, random_engine& random) {
  const auto half = static_cast<std::uint64_t>(delay.count()) / 2;
  return delay - duration(static_cast<duration::rep>(random.uniform_below(half + 1)));
}

}  // namespace

backoff::backoff(retry_policy policy)
    : policy_(std::move(policy)),
      random_(seed_or_random(policy_.seed)),
      delay_(policy_.first_delay) {
  if (policy_.attempts == 0) {
    throw failure(errc::invalid_argument, "retry_policy::attempts is 0: use 1 or more");
  }
  if (policy_.first_delay < duration::zero() || policy_.max_delay < duration::zero()) {
    throw failure(errc::invalid_argument,
                  "retry_policy: first_delay or max_delay is negative: use 0 or more");
  }
}

bool backoff::is_retryable(const std::exception_ptr& error) const noexcept {
  if (!error || policy_.attempts == 1) return false;
  if (!policy_.should_retry) return has_any_code(error, policy_.retried);
  try {
    return policy_.should_retry(error);
  } catch (...) {
    return false;
  }
}

std::optional<duration> backoff::next(const std::exception_ptr& error) {
  if (!is_retryable(error) || ++failures_ >= policy_.attempts) return std::nullopt;
  const duration wait = apply_jitter(std::min<duration>(delay_, policy_.max_delay), random_);
  if (policy_.on_retry) policy_.on_retry(failures_, error, wait);
  delay_ = std::min(delay_, policy_.max_delay / 2) * 2;
  return wait;
}

}  // namespace LEAT::detail
