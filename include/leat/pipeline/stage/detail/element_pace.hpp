#pragma once

#include <cstddef>

#include "leat/base/clock.hpp"

namespace LEAT::detail {

/// Finds out whether a loop over elements has computed for a whole turn. It reads the clock only
/// after several elements, since a read costs as much as a small element.
class element_pace {
 public:
  /// Returns the number of elements until the clock is read, at least 1.
  [[nodiscard]] std::size_t left() const noexcept { return left_; }

  /// Counts processed elements, at most left(). Returns true if the turn has lasted too long.
  /// Precondition: a task is running.
  [[nodiscard]] bool is_turn_over_after(std::size_t elements) noexcept {
    left_ -= elements;
    return left_ == 0 && read_clock();
  }

 private:
  [[nodiscard]] bool read_clock() noexcept;

  time_point clock_read_at_;
  std::size_t elements_per_read_ = 1;
  std::size_t left_ = 1;
};

}  // namespace LEAT::detail
