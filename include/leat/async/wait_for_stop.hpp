#pragma once

#include <atomic>
#include <coroutine>
#include <optional>
#include <source_location>
#include <stop_token>
#include <system_error>
#include <tuple>
#include <utility>

#include "leat/async/operation_result.hpp"
#include "leat/async/task_scope.hpp"
#include "leat/async/wait_operation.hpp"
#include "leat/base/error.hpp"

namespace LEAT {

/// The awaitable of wait_for_stop(). Movable until it is awaited.
class [[nodiscard]] stop_wait final : public wait_operation {
 public:
  stop_wait(std::stop_token token, const std::source_location& where) noexcept
      : wait_operation(stop_kind, where), token_(std::move(token)) {}
  stop_wait(stop_wait&& unstarted) noexcept
      : stop_wait(std::move(unstarted.token_), unstarted.where()) {}
  ~stop_wait();

  bool await_ready() const noexcept { return token_.stop_requested() && !stop_requested(); }
  bool await_suspend(std::coroutine_handle<> h);
  void await_resume() {
    if (const auto [ec] = await_tuple(); ec) throw failed(ec);
  }
  operation_result<void> await_tuple() noexcept;

  /// Returns the token of a wait that will not be awaited.
  [[nodiscard]] std::stop_token release() && noexcept { return std::move(token_); }

 private:
  enum outcome : unsigned char { waiting, stopped, cancelled };
  struct forward {
    stop_wait* self;
    void operator()() const noexcept { self->end(stopped); }
  };

  [[nodiscard, gnu::cold]] static failure failed(std::error_code ec);
  void end(outcome o) noexcept;
  static void cancel(wait_operation& w) noexcept;
  static void describe(const wait_operation& w, std::ostream& out);
  static const kind stop_kind;

  std::stop_token token_;
  std::atomic<outcome> outcome_{waiting};
  std::optional<std::stop_callback<forward>> callback_;
};

/// Waits until any thread requests a stop through `token`. If no stop can be requested through
/// `token`, it waits indefinitely.
///
/// Use it in a coroutine that is not a leat task, as an operation of select(), or for a stop other
/// than the task's own. Every wait of a leat task already observes a stop of its owner.
///
/// Errors:       cancelled, if the waiting task itself was asked to stop.
/// Cancellation: total.
/// Cost:         no allocation.
[[nodiscard]] inline stop_wait wait_for_stop(
    std::stop_token token, std::source_location where = std::source_location::current()) noexcept {
  return {std::move(token), where};
}

}  // namespace LEAT
