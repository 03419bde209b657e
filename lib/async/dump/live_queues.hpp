#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "async/dump/process_snapshot.hpp"
#include "leat/async/dump/detail/live_queue.hpp"

namespace leat::detail {

/// The queues of the process, newest first, for dump().
///
/// A dump holds mutex() while it takes the locks of queues, so no thread may wait for mutex() while
/// it holds the lock of a queue. Queues are not created or destroyed there, since no user code runs
/// under these locks.
///
/// Thread safety: thread-safe.
class live_queues {
 public:
  /// The queues whose locks the calling thread owns. Errors: std::bad_alloc.
  [[nodiscard]] static std::vector<queue_state> owned_by_this_thread();

  /// All queues, the oldest first; those in `known` are not queried again. Errors: std::bad_alloc.
  [[nodiscard]] static std::vector<queue_state> all(std::vector<queue_state> known);

 private:
  friend class live_queue;
  static std::mutex& mutex() noexcept;

  // Guarded by mutex(). tools/gdb/leat.py begins here.
  static constinit live_queue* newest_;
  static constinit std::uint64_t made_;  // the number of queues ever created
};

}  // namespace leat::detail
