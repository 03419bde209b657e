#include "leat/pipeline/stage/detail/element_pace.hpp"

#include <algorithm>
#include <chrono>

#include "leat/async/internal/yield_turn.hpp"
#include "leat/async/scheduler/scheduler.hpp"

namespace LEAT::detail {

// The number of elements between two reads doubles up to 64 while the reads are less than a
// millisecond apart. After a longer time, the clock is read after each element until elements are
// fast again.
bool element_pace::read_clock() noexcept {
  constexpr std::size_t most = 64;
  const time_point now = scheduler::current()->now();
  const bool slow = now - clock_read_at_ >= std::chrono::milliseconds(1);
  clock_read_at_ = now;
  elements_per_read_ = slow ? 1 : std::min(2 * elements_per_read_, most);
  left_ = elements_per_read_;
  return is_turn_long(now);
}

}  // namespace LEAT::detail
