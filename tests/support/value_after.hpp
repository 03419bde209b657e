#pragma once

#include "leat/async/sleep.hpp"
#include "leat/async/task.hpp"
#include "leat/base/clock.hpp"

namespace leat_test {

/// A task that returns `value` after a time.
inline leat::task<int> value_after(int value, leat::duration d) {
  co_await leat::sleep_for(d);
  co_return value;
}

}  // namespace leat_test
