#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace leat::detail {

/// The batches of a stage whose elements later stages need again, in the order in which they
/// request them. A state numbers them in this order.
class batch_numbers {
 public:
  /// Returns the index of a batch in this order, and adds it if it is new.
  [[nodiscard]] std::uint64_t index_of(std::uint64_t number);

  [[nodiscard]] const std::vector<std::uint64_t>& all() const noexcept { return numbers_; }

 private:
  std::vector<std::uint64_t> numbers_;
  std::unordered_map<std::uint64_t, std::uint64_t> indexes_;
};

}  // namespace leat::detail
