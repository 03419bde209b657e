#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace leat_test {

/// Records the distance between the lowest and the highest frame address.
class stack_use {
 public:
  void look() noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    low_ = std::min(low_, at);
    high_ = std::max(high_, at);
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return high_ - low_; }

 private:
  std::uintptr_t low_ = UINTPTR_MAX;
  std::uintptr_t high_ = 0;
};

}  // namespace leat_test
