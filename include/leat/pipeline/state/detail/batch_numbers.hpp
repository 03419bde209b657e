#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace leat::detail {

/// The batches of a stage of which those behind it need elements again, in the order in which they
/// ask for them. A state counts them so.
class batch_numbers {
 public:
  /// Where one stands among them, asked for now or before.
  [[nodiscard]] std::uint64_t index_of(std::uint64_t number);

  [[nodiscard]] const std::vector<std::uint64_t>& all() const noexcept { return numbers_; }

 private:
  std::vector<std::uint64_t> numbers_;
  std::unordered_map<std::uint64_t, std::uint64_t> indexes_;
};

}  // namespace leat::detail
