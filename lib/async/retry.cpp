#include "leat/async/retry.hpp"

#include <source_location>
#include <string>
#include <typeinfo>
#include <utility>

#include "async/internal/backoff.hpp"
#include "base/internal/error_text.hpp"
#include "leat/async/as_tuple.hpp"
#include "leat/async/detail/joint_scope.hpp"
#include "leat/async/sleep.hpp"
#include "leat/async/this_task.hpp"

namespace LEAT {
namespace {

// Throws the error with the number of attempts in its message. An error of a derived type, which
// may have members of its own, is thrown as it is.
[[noreturn]] void throw_last(const std::exception_ptr& error, std::size_t attempts) {
  try {
    std::rethrow_exception(error);
  } catch (const std::system_error& e) {
    if (typeid(e) != typeid(failure) && typeid(e) != typeid(std::system_error)) throw;
    const std::string message =
        detail::without_code_message(e) + " (after " + std::to_string(attempts) + " attempts)";
    if (typeid(e) == typeid(failure)) throw failure(e.code(), message);
    throw std::system_error(e.code(), message);
  }
}

// Throws `cancelled`, with the error of the last attempt that was not stopped.
[[noreturn]] void throw_stopped(const std::exception_ptr& error) {
  throw detail::retry_stopped(errc::cancelled, "retry() stopped after an attempt failed with \"" +
                                                   detail::error_message(error) + "\"");
}

}  // namespace

task<void> retry(std::function<task<void>()> attempt, retry_policy policy) {
  detail::backoff delays(std::move(policy));
  const std::source_location where = co_await detail::awaited_at();
  std::exception_ptr previous;
  for (;;) {
    std::exception_ptr error;
    try {
      task<void> running = attempt();
      co_await detail::untraced<void>{std::move(running)};
    } catch (...) {
      error = std::current_exception();
    }
    if (!error) co_return;
    const bool stopped = this_task::stop_requested();
    if (stopped && to_error_code(error) == errc::cancelled) {
      if (previous) throw_stopped(previous);
      std::rethrow_exception(error);
    }
    if (stopped && !delays.is_last() && delays.is_retryable(error)) throw_stopped(error);
    const std::optional<duration> wait = delays.next(error);
    if (!wait && delays.exhausted()) throw_last(error, delays.failures());
    if (!wait) std::rethrow_exception(error);
    const auto slept = co_await as_tuple(sleep_for(*wait, where));
    if (slept.error) throw_stopped(error);
    previous = std::move(error);
  }
}

task<void> retry(std::function<task<void>()> attempt) {
  return retry(std::move(attempt), retry_policy());
}

}  // namespace LEAT
