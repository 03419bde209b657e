#pragma once

#include <chrono>

#include "leat/async/scheduler/scheduler.hpp"
#include "leat/base/clock.hpp"

namespace LEAT::detail {

/// Returns the time of the current scheduler, or of the steady clock outside a scheduler.
inline time_point present_time() noexcept {
  const scheduler* const here = scheduler::current();
  return here ? here->now() : std::chrono::steady_clock::now();
}

}  // namespace LEAT::detail
