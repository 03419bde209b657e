// Pipelines of several ranks that are saved: another number of ranks goes on, or is refused.

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "leat/pipeline/read_indexed.hpp"
#include "pipeline/resuming.hpp"
#include "support/error_of.hpp"
#include "support/refusal.hpp"

namespace resume_ranks_test {

using leat::errc;
using leat_test::contains;
using leat_test::error_of;
using leat_test::go_on;
using leat_test::joined;
using leat_test::read_and_save;
using leat_test::text_of_record;
using leat_test::texts;
using leat_test::write_record_files;

std::string join_rows(const leat::record_rows& rows) {
  std::string text;
  for (const leat::byte_view row : rows) text += text_of_record(row) + ',';
  return text;
}

// Of which ranks read 10 batches each, then others go on.
template <class Make>
void check_ranks(std::uint64_t before, std::uint64_t behind, Make make) {
  auto alone = make(0, 1);
  std::string all = joined(leat::sync_wait(leat_test::read_all(alone)));
  std::string seen;
  std::string state;
  for (std::uint64_t rank = 0; rank < before; ++rank) {
    auto p = make(rank, before);
    const auto [elements, states] = leat::sync_wait(read_and_save(p, 10));
    seen += joined(elements) + ',';
    state = states.back();
  }
  for (std::uint64_t rank = 0; rank < behind; ++rank) {
    auto p = make(rank, behind);
    seen += joined(leat::sync_wait(go_on(p, state))) + ',';
  }
  const auto sorted = [](const std::string& text) {
    texts parts;
    std::string part;
    for (const char c : text + ',') {
      if (c != ',') {
        part += c;
      } else if (!part.empty()) {
        parts.push_back(std::exchange(part, {}));
      }
    }
    std::sort(parts.begin(), parts.end());
    return parts;
  };
  CHECK(sorted(seen) == sorted(all));
}

TEST_CASE("resume: ranks of another number go on with the same records", "[pipeline]") {
  const temp_dir dir;
  leat::sync_wait(write_record_files(dir, 1000));
  const auto ranks_of = [&](std::uint64_t rank, std::uint64_t world_size) {
    return leat::read_indexed({dir / "records???"},
                              {.num_epochs = 1,
                               .seed = 5,
                               .shard = {.rank = rank, .world_size = world_size},
                               .batch_size = 6});
  };
  for (const auto& [before, behind] : {std::pair{2, 3}, {2, 1}, {1, 4}, {3, 2}}) {
    check_ranks(
        static_cast<std::uint64_t>(before), static_cast<std::uint64_t>(behind),
        [&](std::uint64_t rank, std::uint64_t world_size) {
          return ranks_of(rank, world_size).batch({.size = 4}).map("join", join_rows).prefetch(2);
        });
    // A batch ends in the midst of what a function has made of a run.
    check_ranks(static_cast<std::uint64_t>(before), static_cast<std::uint64_t>(behind),
                [&](std::uint64_t rank, std::uint64_t world_size) {
                  return ranks_of(rank, world_size)
                      .map("text", text_of_record, {.workers = 2})
                      .map("again", [](std::string text) { return text; })
                      .batch({.size = 4})
                      .map("join", [](const texts& batch) { return joined(batch); });
                });
  }
}

TEST_CASE("resume: what a stage holds of a rank, another one cannot go on with", "[pipeline]") {
  const temp_dir dir;
  leat::sync_wait(write_record_files(dir, 1000));
  const auto ranks_of = [&](std::uint64_t rank, std::uint64_t world_size) {
    return leat::read_indexed(
        {dir / "records???"},
        {.num_epochs = 1, .seed = 5, .shard = {.rank = rank, .world_size = world_size}});
  };
  const auto shuffled = [&](std::uint64_t rank, std::uint64_t world_size) {
    return ranks_of(rank, world_size)
        .shuffle({.capacity = 10, .seed = 1})
        .map("text", text_of_record);
  };
  const auto words = [&](std::uint64_t rank, std::uint64_t world_size) {
    return ranks_of(rank, world_size).flat_map("twice", [](leat::byte_view record) {
      return texts(2, text_of_record(record));
    });
  };
  auto first = shuffled(0, 2);
  const std::string state = leat::sync_wait(read_and_save(first, 70)).second.back();
  for (const auto& [rank, world_size] : {std::pair{1U, 2U}, {0U, 3U}, {0U, 1U}}) {
    auto p = shuffled(rank, world_size);
    const std::string why = error_of(p.restore(state), errc::failed_precondition);
    CHECK(contains(why, "stage 'shuffle' holds elements of rank 0 of 2, and this is rank " +
                            std::to_string(rank) + " of " + std::to_string(world_size)));
    leat::sync_wait(p.stop());
  }
  auto same = shuffled(0, 2);
  CHECK(leat::sync_wait(go_on(same, state)).size() == 430);

  auto twice = words(0, 2);
  const texts states = leat::sync_wait(read_and_save(twice, 3)).second;
  auto p = words(1, 2);
  CHECK(contains(error_of(p.restore(states.back()), errc::failed_precondition),
                 "stage 'twice' was in the midst of a run of rank 0 of 2"));
  leat::sync_wait(p.stop());
}

}  // namespace resume_ranks_test
