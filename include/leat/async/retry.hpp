#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/base/braced.hpp"
#include "leat/base/clock.hpp"
#include "leat/base/error.hpp"

namespace leat {

/// Options of retry(): the failures that are retried, the number of attempts and the delays.
struct retry_policy {
  std::size_t attempts = 10;                        ///< total number, including the first one
  time_span first_delay = std::chrono::seconds(1);  ///< before the second attempt
  time_span max_delay = std::chrono::minutes(5);    ///< delays double up to this limit
  /// The errors after which another attempt is made.
  braced<std::vector<errc>> retried = {errc::aborted, errc::unavailable};
  std::optional<std::uint64_t> seed = {};  ///< of the delays; if not set, they differ each time
  /// Called for each failure that will be retried, with the delay before the next attempt.
  braced<std::function<void(std::size_t attempt, std::exception_ptr error, duration delay)>>
      on_retry = {};
};

/// Runs `attempt`, and runs it again while it fails with an error that may pass: a peer has lost
/// its state or cannot be reached.
///
/// Between attempts it waits for a random time, from half of a delay to the whole delay. The delay
/// doubles each time. Many programs that fail together therefore do not retry at the same moment.
///
///     co_await leat::retry([&] { return train(options); });
///
/// Each attempt starts from the contents of a checkpoint, as after a crash: create the supervisor,
/// the registry and the pipelines in `attempt`.
///
/// Errors:       the error of the last attempt; any error that is not in `retried`, immediately.
///               invalid_argument for a policy without attempts or with a negative delay.
/// Cancellation: during an attempt, like that attempt; between two attempts, total.
/// TensorFlow:   the loop around tf.train.Supervisor. Differs from TensorFlow: the number of
///               attempts is limited, and there are pauses between them.
[[nodiscard]] task<void> retry(std::function<task<void>()> attempt, retry_policy policy);
/// Like retry(attempt, policy), but with the default policy.
[[nodiscard]] task<void> retry(std::function<task<void>()> attempt);

}  // namespace leat
