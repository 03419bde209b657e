#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "async/dump/internal/process_snapshot.hpp"
#include "leat/async/dump/internal/live_object.hpp"

namespace LEAT::detail {

/// The queues and primitives of the process, newest first, for dump().
///
/// A dump holds mutex() while it takes the locks of objects, so no thread may wait for mutex()
/// while it holds the lock of an object. Objects are not created or destroyed there: the only user
/// code under these locks are the constructors of a value in a watch or a broadcast.
///
/// Thread safety: thread-safe.
class live_objects {
 public:
  /// The objects whose locks the calling thread owns. Errors: std::bad_alloc.
  [[nodiscard]] static std::vector<object_state> owned_by_this_thread();

  /// All objects, the oldest first; those in `known` are not queried again. Errors: std::bad_alloc.
  [[nodiscard]] static std::vector<object_state> all(std::vector<object_state> known);

  /// Calls `f(number, name, size)` with each queue. `f` must not create or destroy an object.
  /// Errors: std::bad_alloc; those of f. Cost: takes no lock of a queue.
  template <class F>
  static void sample(F f) {
    const std::lock_guard lock(mutex());
    for (const live_object* o = newest_; o; o = o->following_) {
      object_state state;
      if (o->reporter_(o->object_, live_object::access::for_trace, state)) {
        f(o->number_, state.name, state.size);
      }
    }
  }

 private:
  friend class live_object;
  static std::mutex& mutex() noexcept;

  // Guarded by mutex(). tools/gdb/leat.py begins here.
  static constinit live_object* newest_;
  static constinit std::uint64_t made_;  // the number of objects ever added
};

}  // namespace LEAT::detail
