#pragma once

#include <cstddef>
#include <source_location>
#include <string>

#include "leat/async/task.hpp"
#include "leat/base/clock.hpp"
#include "leat/sync/mutex.hpp"

namespace LEAT {

/// Limits how often something happens, such as requests to a server.
///
///     leat::rate_limiter requests(100, 1s, 20, "requests");  // 100 each second, 20 at once
///     co_await requests.acquire();
///     co_await send(request);
///
/// A bucket contains up to `burst` tokens and is full at first. A token is added every
/// `period / count`. acquire() takes tokens and waits until there are enough.
///
/// Tasks are served in the order in which they called acquire(). A task that is cancelled takes no
/// token, and later ones are served as if it had not been there.
///
/// The limiter uses the clock of the caller's scheduler, which is virtual in a simulation.
///
/// Lifetime: the limiter must outlive its operations.
///
/// Thread safety: thread-safe. A waiting task resumes on its own scheduler.
/// Cost: acquire() is a task, so it allocates a frame. Only the first waiting task sets a timer.
class rate_limiter {
 public:
  /// Creates a limiter for `count` tokens in each `period`, of which `burst` can be taken at once.
  /// `name` appears in messages and dumps.
  ///
  /// Errors: invalid_argument if `count` or `burst` is 0, if `period` is 0 or negative, if a
  ///         token would be added more often than once a nanosecond, or if the burst takes more
  ///         than 292 years to fill.
  rate_limiter(std::size_t count, time_span period, std::size_t burst = 1, std::string name = {});

  /// Takes `count` tokens, waiting until they are there and all earlier calls have been served.
  ///
  /// Errors:       cancelled; invalid_argument if `count` is 0 or more than burst().
  /// Cancellation: total.
  [[nodiscard]] task<void> acquire(std::size_t count = 1,
                                   std::source_location where = std::source_location::current());

  /// Takes `count` tokens without waiting. Returns false, without effect, if there are too few or
  /// if a task waits: use it to reject work under load.
  ///
  /// Errors: invalid_argument, as in acquire().
  [[nodiscard]] bool try_acquire(std::size_t count = 1);

  /// Returns the largest number of tokens that can be taken at once.
  [[nodiscard]] std::size_t burst() const noexcept { return burst_; }
  /// Returns the name that was passed to the constructor.
  [[nodiscard]] const std::string& name() const noexcept { return turn_.name(); }

 private:
  void require_possible(std::size_t count) const;
  // The time at which `count` tokens are there. Precondition: the caller holds turn_.
  [[nodiscard]] time_point time_of(std::size_t count) const noexcept;
  void take(std::size_t count, time_point now) noexcept;

  const duration interval_;  // between two tokens
  const std::size_t burst_;
  mutex turn_;            // the first task holds it while it sleeps
  time_point full_at_{};  // when the bucket is full; guarded by turn_
};

}  // namespace LEAT
