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

/// Which failures are tried again, how often and how soon.
struct retry_policy {
  std::size_t attempts = 10;                        ///< in all, the first one included
  time_span first_delay = std::chrono::seconds(1);  ///< before the second one
  time_span max_delay = std::chrono::minutes(5);    ///< delays double up to here
  braced<std::vector<errc>> retried = {errc::aborted, errc::unavailable};
  std::optional<std::uint64_t> seed = {};  ///< of the delays; none: others each time
  /// Told of each failure that will be tried again, and after what delay.
  braced<std::function<void(std::size_t attempt, std::exception_ptr error, duration delay)>>
      on_retry = {};
};

/// Runs `attempt`, again and again while it fails in a way that may pass: a peer that has lost its
/// state, or cannot be reached. Between attempts it waits at random for half to the whole of a
/// delay that doubles, so that many programs do not come back at the same moment.
///
///     co_await leat::retry([&] { return train(options); });
///
/// Each attempt begins from what a checkpoint holds, as after a crash: make supervisor, registry
/// and pipelines in it.
///
/// Errors:       what the last attempt failed with; others at once. invalid_argument for a policy
///               without attempts, or with a delay below 0.
/// Cancellation: during an attempt as that one's; total between two.
/// TensorFlow: the loop around tf.train.Supervisor, with a limit and pauses.
[[nodiscard]] task<void> retry(std::function<task<void>()> attempt, retry_policy policy);
/// The same with the default policy.
[[nodiscard]] task<void> retry(std::function<task<void>()> attempt);

}  // namespace leat
