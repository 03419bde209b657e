#include "leat/base/permutation.hpp"

#include <string>

#include "leat/base/error.hpp"

namespace LEAT {
namespace {

// Below this size, a few rounds of the network leave some orders more likely than others.
constexpr std::uint64_t small_size = 256;

// The smallest even number whose square is at least `n`.
std::uint64_t even_root(std::uint64_t n) {
  std::uint64_t below = 0;  // the largest number whose square is below n
  for (std::uint64_t bit = std::uint64_t{1} << 31; bit > 0; bit >>= 1) {
    if ((below | bit) * (below | bit) < n) below |= bit;
  }
  return (below + 2) / 2 * 2;
}

}  // namespace

permutation::permutation(std::uint64_t size, std::uint64_t seed, std::uint64_t epoch)
    : size_(size),
      columns_(even_root(size)),
      rows_((size + columns_ - 1) / columns_),
      rounds_(size < small_size ? many_rounds : few_rounds) {
  if (size > max_size) {
    throw failure(errc::invalid_argument,
                  "permutation: size is " + std::to_string(size) + ", must be at most 2^63");
  }
  random_engine keys = random_engine(seed).stream(epoch);
  for (std::uint64_t& key : keys_) key = keys();
}

}  // namespace LEAT
