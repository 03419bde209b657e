#include "leat/pipeline/state/detail/batch_numbers.hpp"

#include <cstdint>

namespace leat::detail {

std::uint64_t batch_numbers::index_of(std::uint64_t number) {
  const auto [at, is_new] = indexes_.try_emplace(number, numbers_.size());
  if (is_new) numbers_.push_back(number);
  return at->second;
}

}  // namespace leat::detail
