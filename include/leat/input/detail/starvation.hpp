#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "leat/base/clock.hpp"
#include "leat/base/error.hpp"
#include "leat/queue/queue_base.hpp"

namespace LEAT::detail {

/// The state of the sources of a batcher. Thread safety: thread-safe.
struct feed_state {
  std::atomic<std::size_t> operations = 0;  ///< 0: the program pushes the elements itself
  std::atomic<bool> started = false;
};

/// Returns the error for a consumer that has waited for a batch until its patience ended.
[[nodiscard]] failure starvation_error(const queue_base& queue, std::size_t batch_size,
                                       duration patience, const feed_state& by);

/// Errors: invalid_argument for a patience of 0 or less.
void check_patience(const queue_base& queue, duration patience);

}  // namespace LEAT::detail
