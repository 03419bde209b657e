#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
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
  /// The objects whose locks the calling thread owns. `how`: as_owner or metrics_as_owner.
  /// Errors: std::bad_alloc.
  [[nodiscard]] static std::vector<object_state> owned_by_this_thread(live_object::access how);

  /// All objects, the oldest first; those in `known` are not queried again. Errors: std::bad_alloc.
  [[nodiscard]] static std::vector<object_state> all(std::vector<object_state> known);

  /// The objects of one type and name.
  struct totals {
    std::size_t count = 0;                    ///< living objects
    std::vector<metric_sample> samples = {};  ///< the sums over them, or the maxima
    /// Counters of objects that were destroyed since a call of sum_metrics() found this name.
    std::vector<metric_sample> ended = {};
  };
  /// The name is that of a label, escaped, so that names with the same label share their totals.
  using totals_by_name = std::map<std::pair<std::string_view, std::string>, totals>;

  /// The metrics of all objects by type and name; those in `known` are not queried again. From the
  /// first call on, the counters of an object that is destroyed are kept for the next call, as long
  /// as each call finds an object of its name. So sums never decrease. Errors: std::bad_alloc.
  [[nodiscard]] static totals_by_name sum_metrics(std::vector<object_state> known);

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
  [[nodiscard]] static std::vector<object_state> all_with_lock(std::vector<object_state> known,
                                                               live_object::access how);
  static void keep_counters(const live_object& o) noexcept;

  // Guarded by mutex(). tools/gdb/leat.py begins here.
  static constinit live_object* newest_;
  static constinit std::uint64_t made_;  // the number of objects ever added
};

}  // namespace LEAT::detail
