#include "leat/base/world_rank.hpp"

namespace LEAT {
namespace {

constexpr std::uint64_t max_world_size = std::uint64_t{1} << 32;

}  // namespace

std::string world_rank::error() const {
  if (world_size == 0 || world_size > max_world_size) {
    return "world_size is " + std::to_string(world_size) + ", must be 1 to 2^32";
  }
  if (rank >= world_size) {
    return "rank is " + std::to_string(rank) + ", must be below the world_size of " +
           std::to_string(world_size);
  }
  return {};
}

std::string world_rank::text() const {
  return "rank " + std::to_string(rank) + " of " + std::to_string(world_size);
}

}  // namespace LEAT
