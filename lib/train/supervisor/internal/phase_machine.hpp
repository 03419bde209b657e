#pragma once

#include <atomic>

#include "leat/base/internal/assert.hpp"

namespace LEAT::detail {

/// A phase, which changes only as the table of its type permits: `may_follow(from, to)`.
///
/// Thread safety: now() and is() are thread-safe, enter() is thread-compatible.
template <class Phase>
class phase_machine {
 public:
  /// Returns the current phase.
  [[nodiscard]] Phase now() const noexcept { return now_; }
  /// Returns true in the phase `p`.
  [[nodiscard]] bool is(Phase p) const noexcept { return now_ == p; }
  /// Begins the phase `next`. The only function that changes the phase.
  void enter(Phase next) noexcept {
    LEAT_ASSERT(may_follow(now_, next), "phase entered out of order: report this as a bug of leat");
    now_ = next;
  }

 private:
  std::atomic<Phase> now_{};
};

}  // namespace LEAT::detail
