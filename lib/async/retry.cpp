#include "leat/async/retry.hpp"

#include <string>
#include <typeinfo>
#include <utility>

#include "async/backoff.hpp"
#include "base/error_text.hpp"
#include "leat/async/sleep.hpp"
#include "leat/async/this_task.hpp"

namespace leat {
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

// Throws `cancelled`, with the error that would have been retried.
[[noreturn]] void throw_stopped(const std::exception_ptr& error) {
  if (to_error_code(error) == errc::cancelled) std::rethrow_exception(error);
  throw failure(errc::cancelled, "retry() stopped after an attempt failed with \"" +
                                     detail::error_message(error) + "\"");
}

}  // namespace

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
    const bool stopped = co_await this_task::stop_requested();
    if (stopped && delays.is_retryable(error)) throw_stopped(error);
    const std::optional<duration> wait = delays.next(error);
    if (!wait && delays.exhausted()) throw_last(error, delays.failures());
    if (!wait) std::rethrow_exception(error);
    co_await sleep_for(*wait);
  }
}

task<void> retry(std::function<task<void>()> attempt) {
  return retry(std::move(attempt), retry_policy());
}

}  // namespace leat
