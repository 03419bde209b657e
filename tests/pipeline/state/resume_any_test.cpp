// Pipelines with random stages, saved at random positions: they continue as they were, or with any
// number of ranks.

#include <functional>

#include "input/few_files.hpp"
#include "leat/io/reader/tfrecord_reader.hpp"
#include "leat/pipeline/read_indexed.hpp"
#include "pipeline/source/dealing.hpp"

namespace resume_any_test {

using namespace leat_test;
using lines = leat::pipeline<texts>;

// Some elements occur twice.
texts lines_and_more(const texts& batch) {
  texts all;
  for (const std::string& text : batch) {
    all.push_back(text);
    if (text.size() % 2 == 1) all.push_back(text + 'd');
  }
  return all;
}

// Ten files with 62 records in total, and the same files compressed. One file is empty.
struct inputs {
  inputs() {
    const std::vector<int> sizes{7, 3, 0, 11, 1, 9, 5, 16, 8, 2};
    leat::block_on(write_records(plain, sizes));
    leat::block_on(write_records(zipped, sizes, 0, leat::compression::gzip));
  }
  few_files text;
  temp_dir plain;
  temp_dir zipped;
};

enum class kind { shuffle, map, some, many, prefetch, batch, batches, batch_and_more };

struct stage {
  kind what;
  std::uint64_t number;
};

lines with(lines p, const stage& s, const std::string& id) {
  const auto n = static_cast<std::size_t>(s.number);
  const leat::map_stage_options workers{.workers = n % 3 == 0 ? std::size_t{2} : 0};
  switch (s.what) {
    case kind::shuffle: {
      const auto seed = n % 2 == 0 ? std::nullopt : std::optional(s.number);
      return std::move(p).shuffle({.capacity = 1 + n, .seed = seed, .name = "shuffle" + id});
    }
    case kind::map:
      return std::move(p).map("map" + id, [](std::string t) { return t + 'm'; }, workers);
    case kind::some: return std::move(p).map("some" + id, odd, workers);
    case kind::many: return std::move(p).flat_map("many" + id, parts, workers);
    case kind::prefetch: return std::move(p).prefetch(1 + n % 3, "prefetch" + id);
    case kind::batch:
      return std::move(p)
          .batch({.batch_size = 1 + n % 13, .name = "batch" + id})
          .flat_map("lines" + id, same, workers);
    case kind::batches:
      return std::move(p)
          .batch({.batch_size = 1 + n % 5, .name = "batch" + id})
          .batch({.batch_size = 1 + n % 3, .name = "batches" + id})
          .flat_map("lines" + id, lines_of_all, workers);
    case kind::batch_and_more: break;
  }
  return std::move(p)
      .batch({.batch_size = 1 + n % 9, .name = "batch" + id})
      .prefetch(1, "prefetch" + id)
      .map("same" + id, same, workers)
      .flat_map("lines" + id, lines_and_more);
}

// The declaration of a random pipeline.
struct declaration {
  declaration(const inputs& from, leat::random_engine& random) : in(from) {
    source = random.uniform_below(4);
    epochs = 1 + random.uniform_below(3);
    shuffle = random.uniform_below(2) == 0;
    block = static_cast<std::size_t>(1 + random.uniform_below(12));
    interleave = static_cast<std::size_t>(1 + random.uniform_below(3));
    bool has_batches = false;
    for (std::uint64_t n = 1 + random.uniform_below(4); n > 0; --n) {
      auto what = static_cast<kind>(random.uniform_below(8));
      if (has_batches && what == kind::shuffle) what = kind::some;  // batches are not shuffled
      has_batches = has_batches || what >= kind::batch;
      stages.push_back({what, random.uniform_below(40)});
    }
  }

  [[nodiscard]] lines open(std::uint64_t rank, std::uint64_t world_size) const {
    if (source == 0) {
      return lines_of({.files = {in.text.dir / "lines*"},
                       .num_epochs = epochs,
                       .shuffle = shuffle,
                       .seed = 3,
                       .interleave = interleave,
                       .block_length = block,
                       .world = {.rank = rank, .world_size = world_size}});
    }
    if (source == 1) {
      return leat::read_files<leat::tfrecord_reader>(
                 {.files = {in.zipped / "records?"},
                  .num_epochs = epochs,
                  .shuffle = shuffle,
                  .seed = 3,
                  .interleave = interleave,
                  .block_length = block,
                  .readers = interleave + 1,
                  .world = {.rank = rank, .world_size = world_size},
                  .reader = {.compression = leat::compression::gzip}})
          .map("text", text_of_record);
    }
    const auto by = source == 2 ? leat::shard_by::records : leat::shard_by::files;
    return leat::read_indexed({in.plain / "records?"},
                              {.num_epochs = epochs,
                               .shuffle = shuffle,
                               .seed = 5,
                               .world = {.rank = rank, .world_size = world_size},
                               .shard = {.by = by},
                               .batch_size = block})
        .map("text", text_of_record);
  }
  [[nodiscard]] lines make(std::uint64_t rank, std::uint64_t world_size) const {
    std::optional<lines> p(open(rank, world_size));
    for (std::size_t i = 0; i < stages.size(); ++i) {
      lines next = with(std::move(*p), stages[i], std::to_string(i));
      p.emplace(std::move(next));
    }
    return std::move(*p);
  }

  const inputs& in;
  std::uint64_t source;
  std::uint64_t epochs;
  bool shuffle;
  std::size_t block;
  std::size_t interleave;
  std::vector<stage> stages;
};

void check_going_on(const declaration& d, leat::random_engine& random) {
  const auto [all, states] = run_and_save(d.make(0, 1));
  for (int i = 0; i < 8; ++i) {
    const auto k = static_cast<std::size_t>(random.uniform_below(states.size()));
    INFO("behind " << k << " of " << all.size());
    REQUIRE((elements_after(d.make(0, 1), states[k]) == elements_from(all, k)));
  }
  texts seen;
  for (std::string state = states[0]; seen.size() < all.size();) {
    const auto [elements, after] =
        restore_and_save(d.make(0, 1), state, 1 + random.uniform_below(30));
    seen.insert(seen.end(), elements.begin(), elements.end());
    state = after.back();
  }
  REQUIRE((seen == all));
}

void check_dealing_anywhere(const declaration& d, leat::random_engine& random) {
  const texts all = go_on_with(d.make(0, 1), {});
  texts seen;
  texts states;
  const std::uint64_t worlds = 2 + random.uniform_below(4);
  std::string how;
  for (std::uint64_t i = 1; i <= worlds; ++i) {
    const std::uint64_t ranks = 1 + random.uniform_below(6);
    texts after(ranks);
    how += std::to_string(ranks) + " ranks:";
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
      const std::uint64_t most = 1 + all.size() * 2 / (ranks * worlds);
      const std::size_t count =
          i == worlds ? SIZE_MAX : random.uniform_below(4) * random.uniform_below(most) / 2;
      if (i < worlds) how += ' ' + std::to_string(count);
      const texts some = go_on_with(d.make(rank, ranks), states, count, &after[rank]);
      seen.insert(seen.end(), some.begin(), some.end());
    }
    how += i < worlds ? ", then " : " the rest";
    states = std::move(after);
  }
  INFO(how);
  REQUIRE((contents(seen) == contents(all)));
}

TEST_CASE("resume: any stages, from any element, with any number of ranks", "[pipeline]") {
  const inputs in;
  const std::uint64_t first = case_seed(1);
  const std::uint64_t cases = random_case_count(is_repeated_run() ? 3 : 30);
  for (std::uint64_t seed = first; seed < first + cases; ++seed) {
    INFO("LEAT_SEED=" << seed - 1);
    leat::random_engine random(seed);
    const declaration d(in, random);
    check_going_on(d, random);
    for (int i = 0; i < 4; ++i) check_dealing_anywhere(d, random);
  }
}

}  // namespace resume_any_test
