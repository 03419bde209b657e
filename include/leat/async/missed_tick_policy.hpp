#pragma once

#include "leat/base/flavour.hpp"

namespace LEAT {

/// The behavior of an interval or a looper if its user was late for one or more ticks.
enum class missed_tick_policy {
  catch_up,  ///< delivers the missed ticks back to back, until it is on schedule again
  skip       ///< skips the missed ticks, and continues at the next scheduled time
};

}  // namespace LEAT
