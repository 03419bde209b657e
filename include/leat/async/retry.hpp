#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/base/braced.hpp"
#include "leat/base/clock.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/is_task.hpp"
#include "leat/base/internal/local_types.hpp"

LEAT_LOCAL_TYPES_BEGIN

namespace LEAT {

/// Options of retry(): the failures that are retried, the number of attempts and the delays.
struct retry_policy {
  std::size_t attempts = 10;                        ///< total number, including the first one
  time_span first_delay = std::chrono::seconds(1);  ///< before the second attempt
  time_span max_delay = std::chrono::minutes(5);    ///< delays double up to this limit
  /// The errors after which another attempt is made, unless should_retry is set.
  option_list<errc> retried = {errc::aborted, errc::unavailable};
  /// Returns true if another attempt is made after this error; replaces `retried`. An exception
  /// that it throws counts as false. A monitored_session calls it on any thread, and repeatedly.
  option_function<bool(std::exception_ptr error)> should_retry = {};
  std::optional<std::uint64_t> seed = {};  ///< of the delays; if not set, they differ each time
  /// Called for each failure that will be retried, with the delay before the next attempt.
  option_function<void(std::size_t attempt, std::exception_ptr error, duration delay)> on_retry =
      {};
};

namespace detail {

/// The task that a call of Attempt returns.
template <class Attempt>
using task_of_attempt = typename task_of_call<Attempt&>::type;

/// An attempt that has a result, or that a std::function<task<void>()> cannot hold.
template <class Attempt>
concept attempt_of_template = task_of_call<Attempt&>::value &&
                              (!std::is_void_v<typename task_of_attempt<Attempt>::value_type> ||
                               !std::copy_constructible<Attempt>);

}  // namespace detail

/// Like the retry() below, for attempts without a result.
[[nodiscard]] task<void> retry(std::function<task<void>()> attempt, retry_policy policy);
/// Like retry(attempt, policy), but with the default policy.
[[nodiscard]] task<void> retry(std::function<task<void>()> attempt);

/// Awaits the task that `attempt` returns. If the task fails with an error that the policy retries,
/// calls `attempt` again after a delay.
///
/// Each delay is random, between half of a value and the whole value. The value doubles after each
/// attempt, up to max_delay. Many programs that fail together therefore do not retry at the same
/// moment.
///
///     const auto attempt = [&] { return download(page); };
///     const std::string text = co_await leat::retry(attempt, {.attempts = 4});
///
/// Result:       the result of the first attempt that succeeds.
/// Errors:       the error of the last attempt. Its message ends with "(after 4 attempts)" if the
///               type of the error is failure or std::system_error. An error that the policy does
///               not retry is thrown immediately. invalid_argument for a policy without attempts or
///               with a negative delay.
/// Cancellation: a stop request ends the attempt that runs, or the delay, and no attempt follows.
///               The message of the `cancelled` contains the error of the last failed attempt. So
///               does that of the deadline_exceeded of a time limit around retry().
template <class Attempt>
  requires detail::attempt_of_template<Attempt>
[[nodiscard]] detail::task_of_attempt<Attempt> retry(Attempt attempt, retry_policy policy) {
  using result = typename detail::task_of_attempt<Attempt>::value_type;
  detail::result_slot<result> slot;
  std::function<task<void>()> stored = [&] { return detail::store_result(attempt(), slot); };
  task<void> attempts = retry(std::move(stored), std::move(policy));
  co_await detail::untraced<void>{std::move(attempts)};
  co_return slot.take();
}
/// Like retry(attempt, policy), but with the default policy.
template <class Attempt>
  requires detail::attempt_of_template<Attempt>
[[nodiscard]] detail::task_of_attempt<Attempt> retry(Attempt attempt) {
  return retry(std::move(attempt), retry_policy());
}

/// Rejected: each attempt is another task, so retry() needs a callable that returns a task.
template <class Attempt>
  requires(!detail::task_of_call<Attempt&>::value)
auto retry(Attempt&&, retry_policy = {}) {
  static_assert(detail::task_of_call<Attempt&>::value,
                "retry() needs a callable that returns a task, because each attempt is a new task: "
                "write [&]() -> leat::task<int> { co_return co_await ...; }");
}

}  // namespace LEAT

LEAT_LOCAL_TYPES_END
