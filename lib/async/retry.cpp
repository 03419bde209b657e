#include "leat/async/retry.hpp"

#include <utility>

#include "async/backoff.hpp"
#include "leat/async/sleep.hpp"

namespace leat {

task<void> retry(std::function<task<void>()> attempt, retry_policy policy) {
  detail::backoff delays(std::move(policy));
  for (;;) {
    std::exception_ptr error;
    try {
      co_await attempt();
    } catch (...) {
      error = std::current_exception();
    }
    if (!error) co_return;
    const std::optional<duration> wait = delays.next(error);
    if (!wait) std::rethrow_exception(error);
    co_await sleep_for(*wait);
  }
}

task<void> retry(std::function<task<void>()> attempt) {
  return retry(std::move(attempt), retry_policy());
}

}  // namespace leat
