#include "leat/sync/rate_limiter.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "base/internal/append_text.hpp"
#include "leat/async/sleep.hpp"
#include "leat/base/error.hpp"
#include "sync/present_time.hpp"

namespace LEAT {
namespace {

duration interval_of(std::size_t count, time_span period, std::size_t burst,
                     const std::string& name) {
  const duration span = period;
  const auto fail = [&](const char* what) {
    throw failure(errc::invalid_argument, "rate_limiter '" + name + "': " + what);
  };
  if (count == 0) fail("a count of 0 tokens never adds one: use at least 1");
  if (burst == 0) fail("a burst of 0 tokens stores none: use at least 1");
  if (span <= duration::zero()) fail("the period is not positive");
  const auto units = static_cast<std::size_t>(span.count());
  if (count > units) fail("more than one token in a nanosecond: use a lower rate");
  const std::size_t interval = units / count;
  if (burst > static_cast<std::size_t>(duration::max().count()) / interval)
    fail("burst takes more than 292 years to fill: use a smaller burst or a higher rate");
  return duration(static_cast<duration::rep>(interval));
}

}  // namespace

rate_limiter::rate_limiter(std::size_t count, time_span period, std::size_t burst, std::string name)
    : interval_(interval_of(count, period, burst, name)),
      burst_(burst),
      turn_(std::move(name)),
      full_at_(time_point::min()) {}

void rate_limiter::require_possible(std::size_t count) const {
  if (count > 0 && count <= burst_) return;
  std::string text = "rate_limiter '" + name() + "': ";
  detail::append_text(text, "acquire of ", count, " tokens, but ",
                      count == 0 ? "a call needs at least 1" : "at most ");
  if (count != 0) detail::append_text(text, burst_, " can be taken at once");
  throw failure(errc::invalid_argument, text);
}

// The bucket is stored as one time, full_at_, and a token is taken by moving it one interval later.
// So nothing runs while the bucket fills. A full_at_ in the past stands for a full bucket, and
// time_point::min() for one that was never used.
// The bucket lacks as many tokens as intervals are left until it is full.
time_point rate_limiter::time_of(std::size_t count) const noexcept {
  if (full_at_ == time_point::min()) return full_at_;
  return full_at_ - interval_ * static_cast<duration::rep>(burst_ - count);
}

void rate_limiter::take(std::size_t count, time_point now) noexcept {
  full_at_ = deadline_after(std::max(full_at_, now), interval_ * static_cast<duration::rep>(count));
}

task<void> rate_limiter::acquire(std::size_t count, std::source_location where) {
  require_possible(count);
  // Held during the sleep: full_at_ does not change, and later calls wait for their turn.
  const mutex::guard turn = co_await turn_.lock(where);
  const time_point due = time_of(count);
  if (due > detail::present_time()) co_await sleep_until(due, where);
  take(count, detail::present_time());
}

bool rate_limiter::try_acquire(std::size_t count) {
  require_possible(count);
  const mutex::guard turn = turn_.try_lock();
  if (!turn) return false;
  const time_point now = detail::present_time();
  if (time_of(count) > now) return false;
  take(count, now);
  return true;
}

}  // namespace LEAT
