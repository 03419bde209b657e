#pragma once

#include "leat/sync/detail/state_lock.hpp"

namespace model {

/// Adds `n` to the number of a lock, whose largest number is `all`. Returns false if that needs the
/// lock: then the caller is inside.
inline bool give_or_lock(leat::detail::state_lock& lock, leat::detail::state_lock::word n,
                         leat::detail::state_lock::word all) {
  using attempt = leat::detail::state_lock::attempt;
  if (all > 1) {
    if (lock.give(n, all)) return true;
  } else {
    const attempt given = lock.give_one_or_enter();
    if (given != attempt::unknown) return given == attempt::done;
  }
  lock.lock();
  return false;
}

}  // namespace model
