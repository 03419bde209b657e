#include "leat/base/world_rank.hpp"

#include <catch2/catch.hpp>

using leat::world_rank;

namespace world_rank_test {

TEST_CASE("world_rank: the default is valid and is a world of one") {
  CHECK(world_rank{}.error().empty());
  CHECK(world_rank{} == world_rank{.rank = 0, .world_size = 1});
}

TEST_CASE("world_rank: a rank must be below the world size") {
  CHECK(world_rank{.rank = 7, .world_size = 8}.error().empty());
  CHECK(world_rank{.rank = 8, .world_size = 8}.error() ==
        "rank is 8, must be below the world_size of 8");
}

TEST_CASE("world_rank: a world size is 1 to 2^32") {
  CHECK(world_rank{.rank = 0, .world_size = 0}.error() == "world_size is 0, must be 1 to 2^32");
  CHECK(world_rank{.rank = 0, .world_size = 1ULL << 32}.error().empty());
  CHECK(world_rank{.rank = 0, .world_size = (1ULL << 32) + 1}.error() ==
        "world_size is 4294967297, must be 1 to 2^32");
}

TEST_CASE("world_rank: its text contains both numbers") {
  CHECK(world_rank{.rank = 2, .world_size = 8}.text() == "rank 2 of 8");
}

}  // namespace world_rank_test
