#pragma once

// The parts of task/stop and task/stop-as-tuple that all programs share.

#include <algorithm>

#include "support/bench.hpp"
#include "support/count.hpp"

namespace bench {

/// Returns the number of loops, which wait until they are stopped.
[[nodiscard]] inline long loops_to_stop(const request& r) { return std::min(r.items, 100'000L); }

/// The time from the stop request until all loops are joined. tools/instructions.py counts the
/// instructions of this time only.
class stop_time {
 public:
  void begin() {
    begin_ = nanoseconds_now();
    toggle_count();
  }
  /// Returns the seconds since begin().
  [[nodiscard]] double end() const {
    toggle_count();
    return seconds_since(begin_);
  }

 private:
  long begin_ = 0;
};

}  // namespace bench
