#pragma once

#include "leat/async/task.hpp"
#include "leat/sync/event.hpp"

namespace LEAT::detail {

/// Waits until `must_wait` returns false. `change` is set whenever it may have changed.
/// No change is lost: the state is thread-bound, and nothing else runs between `must_wait` and the
/// wait.
template <class Condition>
task<void> wait_while(Condition must_wait, event& change) {
  while (must_wait()) {
    change.reset();
    co_await change.wait();
  }
}

}  // namespace LEAT::detail
