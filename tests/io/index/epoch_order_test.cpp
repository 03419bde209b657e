#include "leat/io/index/epoch_order.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "support/effort.hpp"
#include "tensor/plain_test.hpp"

namespace epoch_order_test {

using leat::epoch_order;
using leat::shard_by;
using leat::shard_counts;
using leat::shard_remainder;
using numbers = std::vector<std::uint64_t>;

constexpr std::uint64_t seed = 11;

// Distributes n records over some files, of which a few are empty.
numbers cut(std::uint64_t n) {
  leat::random_engine random(n);
  numbers files;
  while (n > 0) {
    files.push_back(random.uniform_below(4) == 0 ? 0 : 1 + random.uniform_below(n));
    n -= files.back();
  }
  return files;
}

// The records that a rank reads from a position.
struct reading {
  numbers global_indexes = {};
  std::uint64_t repeated = 0;
  std::uint64_t end = 0;
};

reading read_from(const epoch_order& order, std::uint64_t position) {
  reading r{.end = position};
  while (order.remaining_from(r.end).records > 0) {
    const epoch_order::entry e = order.at(r.end);
    r.global_indexes.push_back(e.global_index);
    if (e.repeated) ++r.repeated;
    r.end = order.next(r.end);
  }
  return r;
}

// Returns how often the ranks read each of the n records.
numbers times(std::uint64_t n, const std::vector<reading>& ranks) {
  numbers all(static_cast<std::size_t>(n));
  for (const reading& r : ranks) {
    for (const std::uint64_t global_index : r.global_indexes)
      ++all.at(static_cast<std::size_t>(global_index));
  }
  return all;
}

std::uint64_t sum(const numbers& all) {
  return std::accumulate(all.begin(), all.end(), std::uint64_t{0});
}

TEST_CASE("epoch_order: the union over the ranks is each record exactly once") {
  for (std::uint64_t n = 0; n <= 300; n += leat_test::slow_build ? 7 : 1) {
    const numbers files = cut(n);
    for (std::uint64_t world = 1; world <= 9; ++world) {
      for (const shard_by by : {shard_by::records, shard_by::files}) {
        std::vector<reading> ranks;
        for (std::uint64_t rank = 0; rank < world; ++rank) {
          epoch_order order(files, true, seed, {.rank = rank, .world_size = world}, {.by = by});
          order.begin(n);
          ranks.push_back(read_from(order, 0));
          const shard_counts counts{.records = ranks.back().global_indexes.size()};
          REQUIRE(order.remaining_from(0) == counts);
          if (by == shard_by::records) REQUIRE(counts.records == (n + world - 1 - rank) / world);
        }
        REQUIRE(times(n, ranks) == numbers(static_cast<std::size_t>(n), 1));
      }
    }
  }
}

TEST_CASE("epoch_order: equal ranks drop or repeat the remainder and count it") {
  for (std::uint64_t n = 0; n <= 300; n += leat_test::slow_build ? 7 : 1) {
    const numbers files = cut(n);
    for (std::uint64_t world = 1; world <= 9; ++world) {
      for (const shard_by by : {shard_by::records, shard_by::files}) {
        for (const auto last : {shard_remainder::drop, shard_remainder::repeat}) {
          std::vector<reading> ranks;
          std::uint64_t dropped = 0;
          std::uint64_t repeated = 0;
          bool any_without = false;  // a rank without files
          for (std::uint64_t rank = 0; rank < world; ++rank) {
            epoch_order order(files, true, seed, {.rank = rank, .world_size = world},
                              {.by = by, .remainder = last});
            order.begin(n);
            ranks.push_back(read_from(order, 0));
            const shard_counts counts = order.remaining_from(0);
            REQUIRE(counts.records == ranks.back().global_indexes.size());
            REQUIRE(counts.repeated == ranks.back().repeated);
            dropped += counts.dropped;
            repeated += counts.repeated;
            any_without = any_without || counts.records + counts.dropped == 0;
          }
          if (!any_without) {
            for (const reading& r : ranks) {
              REQUIRE(r.global_indexes.size() == ranks[0].global_indexes.size());
            }
          }
          const numbers seen = times(n, ranks);
          if (last == shard_remainder::drop) {
            REQUIRE(std::ranges::count(seen, std::uint64_t{0}) ==
                    static_cast<std::ptrdiff_t>(dropped));
            REQUIRE(sum(seen) == n - dropped);
            REQUIRE(std::ranges::all_of(seen, [](std::uint64_t t) { return t <= 1; }));
            if (by == shard_by::records) REQUIRE(dropped == n % world);
          } else {
            REQUIRE(std::ranges::all_of(seen, [](std::uint64_t t) { return t >= 1; }));
            REQUIRE(sum(seen) == n + repeated);
            if (by == shard_by::records) REQUIRE(repeated == (world - n % world) % world);
          }
        }
      }
    }
  }
}

TEST_CASE("epoch_order: another number of ranks continues at the same position") {
  for (std::uint64_t n = 0; n <= 300; n += leat_test::slow_build ? 13 : 3) {
    const numbers files = cut(n);
    for (const std::uint64_t world : {1U, 2U, 3U, 7U}) {
      for (std::uint64_t steps = 0; steps * world <= n; steps += 1 + n / 10) {
        std::vector<reading> parts;
        const auto read = [&](std::uint64_t ranks, std::uint64_t from, std::uint64_t most) {
          for (std::uint64_t rank = 0; rank < ranks; ++rank) {
            const epoch_order order(files, true, seed, {.rank = rank, .world_size = ranks});
            parts.push_back(read_from(order, from));
            auto& global_indexes = parts.back().global_indexes;
            global_indexes.resize(std::min(global_indexes.size(), static_cast<std::size_t>(most)));
          }
        };
        read(world, 0, steps);
        read(1 + (world + steps) % 5, steps * world, n);
        REQUIRE(times(n, parts) == numbers(static_cast<std::size_t>(n), 1));
      }
    }
  }
}

TEST_CASE("epoch_order: a resumed rank reads the remaining records") {
  const numbers files = cut(200);
  for (const shard_by by : {shard_by::records, shard_by::files}) {
    for (const auto last :
         {shard_remainder::keep, shard_remainder::drop, shard_remainder::repeat}) {
      const epoch_order order(files, true, seed, {.rank = 1, .world_size = 3},
                              {.by = by, .remainder = last});
      const reading whole = read_from(order, 0);
      std::uint64_t position = 0;
      for (std::size_t had = 0; had <= whole.global_indexes.size(); ++had) {
        const reading rest = read_from(order, position);
        REQUIRE(
            std::ranges::equal(rest.global_indexes, std::span(whole.global_indexes).subspan(had)));
        REQUIRE(order.remaining_from(position).records == whole.global_indexes.size() - had);
        if (had < whole.global_indexes.size()) {
          REQUIRE_FALSE(order.ended(position));
          position = order.next(position);
        }
      }
    }
  }
}

TEST_CASE("epoch_order: an epoch is over for all ranks at the same position") {
  for (const auto last : {shard_remainder::keep, shard_remainder::drop, shard_remainder::repeat}) {
    for (std::uint64_t position = 0; position < 30; ++position) {
      std::set<bool> ended;
      bool any_left = false;
      for (std::uint64_t rank = 0; rank < 4; ++rank) {
        const epoch_order order(numbers{10, 11}, true, seed, {.rank = rank, .world_size = 4},
                                {.remainder = last});
        ended.insert(order.ended(position));
        any_left = any_left || order.remaining_from(position).records > 0;
      }
      REQUIRE(ended == std::set<bool>{!any_left});
    }
  }
}

TEST_CASE("epoch_order: with shard_by::files a rank has other complete files in each epoch") {
  const numbers files = {3, 0, 5, 7, 2, 4};
  epoch_order order(files, true, seed, {.rank = 0, .world_size = 2}, {.by = shard_by::files});
  std::set<std::set<std::size_t>> choices;
  for (std::uint64_t epoch = 0; epoch < 50; ++epoch) {
    order.begin(epoch);
    CHECK(order.epoch() == epoch);
    numbers seen(files.size());
    std::set<std::size_t> mine;
    for (std::uint64_t k = 0; k < order.remaining_from(0).records; ++k) {
      const epoch_order::entry e = order.at(k);
      REQUIRE(e.index < files[e.file]);
      ++seen[e.file];
      mine.insert(e.file);
    }
    for (const std::size_t file : mine) CHECK(seen[file] == files[file]);
    CHECK(mine.size() == 3);
    choices.insert(mine);
  }
  CHECK(choices.size() == 10);  // 3 of 5
}

TEST_CASE("epoch_order: is the order of the files without shuffle") {
  const numbers files = {2, 0, 3, 4};
  for (const shard_by by : {shard_by::records, shard_by::files}) {
    const epoch_order whole(files, false, seed, {}, {.by = by});
    CHECK(read_from(whole, 0).global_indexes == numbers{0, 1, 2, 3, 4, 5, 6, 7, 8});
    CHECK(whole.at(4).file == 2);
    CHECK(whole.at(4).index == 2);
    CHECK(whole.at(5).file == 3);
    CHECK(whole.at(5).index == 0);
  }
  const epoch_order second(files, false, seed, {.rank = 1, .world_size = 2});
  CHECK(read_from(second, 0).global_indexes == numbers{1, 3, 5, 7});
  const epoch_order by_files(files, false, seed, {.rank = 1, .world_size = 2},
                             {.by = shard_by::files});
  CHECK(read_from(by_files, 0).global_indexes == numbers{2, 3, 4});
}

TEST_CASE("epoch_order: a rank that is not valid is refused") {
  const auto said = [](leat::world_rank world) {
    return refusal([&] { return epoch_order(numbers{1}, true, seed, world); });
  };
  CHECK(
      contains(said({.rank = 2, .world_size = 2}), "rank is 2, must be below the world_size of 2"));
  CHECK(contains(said({.world_size = 0}), "world_size is 0, must be 1 to 2^32"));
  CHECK(contains(said({.world_size = UINT64_MAX}), "must be 1 to 2^32"));
  const std::uint64_t half = std::uint64_t{1} << 62;
  CHECK_REFUSED("more than 2^63 records", epoch_order(numbers{half, half, 1}, true, seed, {}));
}

}  // namespace epoch_order_test
