// The remaining records of the ranks of an indexed_reader, at any positions, are divided among
// another number of ranks.

#include <algorithm>
#include <numeric>

#include "leat/io/index/indexed_reader_state.hpp"
#include "support/effort.hpp"
#include "tensor/plain_test.hpp"

namespace reshard_epoch_test {

using leat::epoch_order;
using leat::epoch_part;
using leat::indexed_reader_state;
using leat::shard_by;
using leat::shard_remainder;
using numbers = std::vector<std::uint64_t>;

constexpr std::uint64_t seed = 11;

// One of several ranks that reads in the order of an indexed_reader.
class reading_rank {
 public:
  reading_rank(const numbers& files, leat::world_rank world, const leat::shard_options& shard,
               const indexed_reader_state* state = nullptr)
      : order_(files, true, seed, world, shard) {
    if (state) now_ = *state;
    now_.records = order_.size();
    now_.seed = seed;
    now_.by = shard.by;
    now_.world_size = world.world_size;
    order_.begin(now_.epoch, now_.parts);
  }

  // Reads at most `count` records, to the end of `epochs` epochs. Adds the number of reads of each
  // record to `times`.
  std::uint64_t read(std::uint64_t count, std::uint64_t epochs, numbers& times) {
    std::uint64_t had = 0;
    while (had < count && now_.epoch < epochs) {
      if (order_.remaining_from(now_.position).records == 0) {
        go_on();
        continue;
      }
      ++times[order_.at(now_.position).global_index];
      now_.position = order_.next(now_.position);
      ++had;
      if (order_.ended(now_.position)) go_on();
    }
    return had;
  }
  [[nodiscard]] const indexed_reader_state& state() const { return now_; }

 private:
  void go_on() {
    order_.begin(++now_.epoch);
    now_.position = 0;
    now_.parts.clear();
  }
  epoch_order order_;
  indexed_reader_state now_;
};

indexed_reader_state reshard(const std::vector<indexed_reader_state>& states, shard_remainder last,
                             const numbers& files = {}) {
  const indexed_reader_state left = indexed_reader_state::reshard(states, files, last, "reader");
  REQUIRE(indexed_reader_state::from_bytes(left.to_bytes(), "reader") == left);
  return left;
}

std::string refused_states(const std::vector<indexed_reader_state>& states) {
  return leat_test::refusal([&] { return reshard(states, shard_remainder::keep); },
                            leat::errc::failed_precondition);
}

// Returns the numbers of records of files. Some files are empty.
numbers some_files(leat::random_engine& random, std::uint64_t most) {
  numbers files(static_cast<std::size_t>(1 + random.uniform_below(12)));
  for (std::uint64_t& records : files)
    records = random.uniform_below(4) == 0 ? 0 : random.uniform_below(most);
  files.front() += 10;
  return files;
}

std::uint64_t sum_of(const numbers& all) {
  return std::accumulate(all.begin(), all.end(), std::uint64_t{0});
}

// Checks that successive numbers of ranks read each record once in each epoch.
void check_turns(shard_by by, std::uint64_t runs) {
  for (std::uint64_t run = 0; run < runs; ++run) {
    leat::random_engine random(run);
    const numbers files = some_files(random, 12);
    const std::uint64_t records = sum_of(files);
    const std::uint64_t epochs = 1 + random.uniform_below(4);
    numbers times(records);
    indexed_reader_state left;
    bool has_left = false;
    std::size_t parts = 0;
    for (std::uint64_t turn = 1 + random.uniform_below(4);; --turn) {
      const std::uint64_t world_size = 1 + random.uniform_below(6);
      std::vector<indexed_reader_state> states;
      for (std::uint64_t rank = 0; rank < world_size; ++rank) {
        reading_rank r(files, {.rank = rank, .world_size = world_size}, {.by = by},
                       has_left ? &left : nullptr);
        r.read(turn == 0 ? UINT64_MAX : random.uniform_below(records), epochs, times);
        states.push_back(r.state());
      }
      if (turn == 0) break;
      left = reshard(states, shard_remainder::keep, files);
      has_left = true;
      parts = std::max(parts, left.parts.size());
    }
    INFO("run " << run << ", " << records << " records, " << epochs << " epochs");
    REQUIRE(times == numbers(records, epochs));
    CHECK(parts < 200);
  }
}

TEST_CASE("reshard: changing numbers of ranks read each record once in each epoch") {
  check_turns(shard_by::records, leat_test::scaled_count(2000));
}

TEST_CASE("reshard: ranks with shard_by::files read each record once in each epoch") {
  check_turns(shard_by::files, leat_test::scaled_count(2000));
}

TEST_CASE("reshard: equal ranks keep equal numbers of records") {
  using how = std::pair<shard_remainder, shard_by>;
  for (const auto& [last, by] : {how{shard_remainder::drop, shard_by::records},
                                 how{shard_remainder::repeat, shard_by::records},
                                 how{shard_remainder::drop, shard_by::files},
                                 how{shard_remainder::repeat, shard_by::files}}) {
    for (std::uint64_t run = 0; run < leat_test::scaled_count(500); ++run) {
      leat::random_engine random(run);
      const std::uint64_t before = 1 + random.uniform_below(5);
      const std::uint64_t behind = 1 + random.uniform_below(5);
      const numbers files(
          10, 2 + random.uniform_below(6));  // equal sizes, so ranks can have equal shares
      const std::uint64_t records = sum_of(files);
      numbers times(records);
      std::vector<indexed_reader_state> states;
      for (std::uint64_t rank = 0; rank < before; ++rank) {
        reading_rank r(files, {.rank = rank, .world_size = before}, {.by = by, .remainder = last});
        r.read(1 + random.uniform_below(files[0] * (10 / before) - 1), 1, times);
        states.push_back(r.state());
      }
      const indexed_reader_state left = reshard(states, last, files);
      numbers counts;
      for (std::uint64_t rank = 0; rank < behind; ++rank) {
        counts.push_back(reading_rank(files, {.rank = rank, .world_size = behind},
                                      {.by = by, .remainder = last}, &left)
                             .read(UINT64_MAX, 1, times));
      }
      INFO("run " << run << ", " << records << " records of " << before << " for " << behind);
      CHECK(std::ranges::count(counts, counts[0]) == std::ssize(counts));
      std::uint64_t all = 0;
      for (const std::uint64_t t : times) all += t;
      if (last == shard_remainder::drop) {
        CHECK(std::ranges::max(times) == 1);
        CHECK(all + behind > records);
      } else {
        CHECK(std::ranges::min(times) >= 1);
        CHECK(all < records + behind);
      }
    }
  }
}

TEST_CASE("reshard: stores a part for each rank that is behind, by any distance") {
  constexpr std::uint64_t records = std::uint64_t{1} << 50;
  std::vector<indexed_reader_state> states(3);
  for (indexed_reader_state& s : states) {
    s.records = records;
    s.seed = seed;
    s.world_size = 3;
  }
  states[1].position = 3'000'000'000;
  const indexed_reader_state left = reshard(states, shard_remainder::keep);
  CHECK(left.parts ==
        std::vector<epoch_part>{{.first = 0, .stride = 3, .count = 1'000'000'000},
                                {.first = 2, .stride = 3, .count = 1'000'000'000},
                                {.first = 3'000'000'000, .count = records - 3'000'000'000}});
  CHECK(left.position == 0);
  states[0].position = states[2].position = 3'000'000'000;
  CHECK(reshard(states, shard_remainder::keep) == states[0]);
  states[0].epoch = 2000;
  CHECK(contains(refused_states(states), "reader: rank 1 of 3 is 2000 epochs behind another rank"));
  states[0].epoch = 0;
  states[0].position = 0;
  states[0].size = 1;
  CHECK(contains(refused_states(states), "reader: rank 1 of 3 differs from rank 0 in its files"));
  CHECK(contains(refused_states({}), "reader: no states: pass the state of each rank"));
}

TEST_CASE("reshard: refuses ranks that resumed from different states") {
  const auto rank_in = [](std::uint64_t epoch, std::uint64_t place) {
    indexed_reader_state s;
    s.records = 100;
    s.world_size = 2;
    s.epoch = epoch;
    s.parts = {{.epoch = epoch, .first = place, .count = 100 - place}};
    return s;
  };
  const indexed_reader_state dealt = rank_in(1, 50);
  indexed_reader_state ahead = dealt;
  ahead.position = 20;
  CHECK(reshard({dealt, ahead}, shard_remainder::keep).parts.size() == 2);
  ahead = rank_in(2, 0);
  ahead.parts.clear();
  CHECK(reshard({dealt, ahead}, shard_remainder::keep).parts.size() == 1);
  const std::string why = " of 2 was not resumed from the same states as the other ranks";
  for (const indexed_reader_state& other : {rank_in(0, 50), rank_in(1, 49), rank_in(2, 50)}) {
    CHECK(contains(refused_states({dealt, other}), "reader: rank 1" + why));
    CHECK(contains(refused_states({other, dealt}), why));
  }
}

TEST_CASE("reshard: with shard_by::files stores a part for each rank") {
  const numbers files = {5, 0, 3, 9, 1, 12};
  std::vector<indexed_reader_state> states(2);
  for (indexed_reader_state& s : states) {
    s.records = 30;
    s.shuffle = false;
    s.by = shard_by::files;
    s.world_size = 2;
  }
  // Apart from the empty file, one rank has files 0, 3 and 5, and the other has files 2 and 4.
  CHECK(reshard(states, shard_remainder::keep, files) == states[0]);
  states[0].position = 7;
  states[1].position = 3;
  const indexed_reader_state left = reshard(states, shard_remainder::keep, files);
  CHECK(left.position == 0);
  CHECK(left.parts == std::vector<epoch_part>{{.first = 7, .count = 19, .ranks = 2},
                                              {.first = 29, .count = 1, .ranks = 2}});
  epoch_order order(files, false, 0, {}, {.by = shard_by::files});
  order.begin(0, left.parts);
  std::vector<std::pair<std::size_t, std::uint64_t>> rest;
  for (std::uint64_t at = 0; !order.ended(at); at = order.next(at)) {
    rest.emplace_back(order.at(at).file, order.at(at).index);
  }
  REQUIRE(rest.size() == 20);
  CHECK(rest[0] == std::pair<std::size_t, std::uint64_t>(3, 2));
  CHECK(rest[7] == std::pair<std::size_t, std::uint64_t>(5, 0));
  CHECK(rest[19] == std::pair<std::size_t, std::uint64_t>(4, 0));
  // Ranks at equal positions have different remaining records.
  states[1].position = states[0].position = 2;
  CHECK(reshard(states, shard_remainder::keep, files).parts ==
        std::vector<epoch_part>{{.first = 2, .count = 24, .ranks = 2},
                                {.first = 28, .count = 2, .ranks = 2}});
  // One rank is in the next epoch, and then both are.
  states[0].epoch = 1;
  CHECK(reshard(states, shard_remainder::keep, files).parts ==
        std::vector<epoch_part>{{.epoch = 0, .first = 28, .count = 2, .ranks = 2},
                                {.epoch = 1, .first = 2, .count = 24, .ranks = 2},
                                {.epoch = 1, .first = 26, .count = 4, .ranks = 2}});
  states[0].position = 0;
  const indexed_reader_state one = reshard(states, shard_remainder::keep, files);
  CHECK(one.epoch == 0);
  CHECK(one.parts == std::vector<epoch_part>{{.first = 28, .count = 2, .ranks = 2}});
  // No rank reads the dropped records: the other rank has at most four records in an epoch.
  states[0].position = 4;
  states[1].epoch = 0;
  CHECK(reshard(states, shard_remainder::drop, files).parts ==
        std::vector<epoch_part>{{.epoch = 0, .first = 28, .count = 2, .ranks = 2},
                                {.epoch = 1, .first = 4, .count = 22, .ranks = 2},
                                {.epoch = 1, .first = 26, .count = 4, .ranks = 2}});
  std::swap(states[0], states[1]);
  CHECK(reshard(states, shard_remainder::drop, files).parts ==
        std::vector<epoch_part>{{.epoch = 0, .first = 2, .count = 2, .ranks = 2},
                                {.epoch = 1, .first = 0, .count = 26, .ranks = 2}});
  // No rank has records of the epoch left.
  states[0] = states[1];
  states[0].position = 26;
  states[1].position = 30;
  const indexed_reader_state none = reshard(states, shard_remainder::keep, files);
  CHECK((none.epoch == 2 && none.position == 0 && none.parts.empty()));
  const numbers others = {5, 0, 3, 9, 1};
  CHECK(contains(leat_test::refusal([&] { return reshard(states, shard_remainder::keep, others); },
                                    leat::errc::failed_precondition),
                 "reader: states have 30 records, but the files have 18"));
}

TEST_CASE("indexed_reader_state: refuses invalid parts of an epoch") {
  indexed_reader_state good;
  good.records = 100;
  good.epoch = 2;
  good.parts = {{.epoch = 1, .first = 1, .stride = 3, .count = 33},
                {.epoch = 2, .first = 50, .stride = 1, .count = 50}};
  good.position = 83;
  CHECK(indexed_reader_state::from_bytes(good.to_bytes(), "reader") == good);
  const auto refused = [&](auto change) {
    indexed_reader_state s = good;
    change(s);
    return leat_test::refusal(
        [&] { return indexed_reader_state::from_bytes(s.to_bytes(), "reader"); });
  };
  const std::string no_part = "invalid part of an epoch";
  CHECK(contains(refused([](auto& s) { s.parts[0].count = 0; }), no_part));
  CHECK(contains(refused([](auto& s) { s.parts[0].count = 35; }), no_part));
  CHECK(contains(refused([](auto& s) { s.parts[0].stride = 0; }), no_part));
  CHECK(contains(refused([](auto& s) { s.parts[0].stride = UINT64_MAX; }), no_part));
  CHECK(contains(refused([](auto& s) { s.parts[0].first = 100; }), no_part));
  CHECK(contains(refused([](auto& s) { s.parts[1].epoch = 3; }), no_part));
  CHECK(contains(refused([](auto& s) { s.position = 84; }), "after the end of the epoch"));
  CHECK(contains(refused([](auto& s) { s.epoch = UINT64_MAX; }), "number of epochs is too large"));
  CHECK(contains(refused([](auto& s) { s.by = leat::shard_by::files; }), no_part));
  CHECK(contains(refused([](auto& s) { s.parts[1].ranks = 2; }), no_part));
  good.by = leat::shard_by::files;
  for (epoch_part& p : good.parts) p.ranks = 3;
  CHECK(indexed_reader_state::from_bytes(good.to_bytes(), "reader") == good);
  CHECK(contains(refused([](auto& s) { s.parts[0].ranks = 0; }), no_part));
  CHECK(
      contains(refused([](auto& s) { s.parts[0].ranks = (std::uint64_t{1} << 32) + 1; }), no_part));
}

}  // namespace reshard_epoch_test
