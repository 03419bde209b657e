#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "leat/pipeline/state/detail/origin.hpp"

namespace LEAT::detail {

/// The batches of a stage whose elements later stages need again, in the order in which they
/// request them. A state numbers them in this order.
class batch_numbers {
 public:
  /// `checks`: the batches are numbered in this order already, and others are an error.
  explicit batch_numbers(bool checks = false) noexcept : checks_(checks) {}

  /// Adds the batch that an origin names if it is new, and replaces its number by the index in this
  /// order. Errors: state_defect.
  void renumber(origin& of_batch);

  [[nodiscard]] const std::vector<std::uint64_t>& all() const noexcept { return numbers_; }
  [[nodiscard]] bool checks() const noexcept { return checks_; }

 private:
  bool checks_;
  std::vector<std::uint64_t> numbers_;
  std::unordered_map<std::uint64_t, std::uint64_t> indexes_;
};

}  // namespace LEAT::detail
