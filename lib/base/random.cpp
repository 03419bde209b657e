#include "leat/base/random.hpp"

#include <random>

namespace LEAT {

std::uint64_t seed_or_random(std::optional<std::uint64_t> seed) {
  if (seed) return *seed;
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

}  // namespace LEAT
