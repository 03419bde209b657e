#pragma once

#include "leat/base/internal/pause.hpp"

namespace LEAT::detail {

/// Spins until an event occurs, unless that has proved useless.
///
/// If the event has not occurred in 32 calls in a row, it takes longer than a call spins, or cannot
/// occur while this thread spins. From then on, one of 16 calls spins, until one succeeds. Fewer
/// failures change nothing: a sleep costs far more than a call that spins in vain.
///
/// Thread safety: thread-compatible.
class spin_budget {
 public:
  /// Checks at most `limit` times whether `occurred()` is true. Returns whether it was; false also
  /// if it made no checks.
  template <class Predicate>
  bool spin(int limit, Predicate occurred) noexcept {
    if (failures_ >= most_failures && ++skipped_ % retry_interval != 0) return false;
    for (int i = 0; i < limit; ++i) {
      if (occurred()) {
        failures_ = 0;
        return true;
      }
      pause();
    }
    if (failures_ < most_failures) ++failures_;
    return false;
  }

 private:
  static constexpr unsigned char most_failures = 32;
  static constexpr unsigned char retry_interval = 16;

  unsigned char failures_ = 0;  // in a row
  unsigned char skipped_ = 0;   // calls, and those that have tried again
};

}  // namespace LEAT::detail
