// Saved pipelines of several ranks: another number of ranks continues, or is rejected.

#include <algorithm>
#include <filesystem>

#include "leat/io/reader/tfrecord_reader.hpp"
#include "leat/pipeline/read_indexed.hpp"
#include "pipeline/source/dealing.hpp"
#include "support/effort.hpp"

namespace resume_ranks_test {

using namespace leat_test;

// `before` ranks read 10 batches each; then `behind` ranks continue.
template <class Make>
void check_ranks(std::uint64_t before, std::uint64_t behind, Make make) {
  const std::string all = joined_by_commas(elements_of(make(0, 1)));
  std::string seen;
  std::string state;
  for (std::uint64_t rank = 0; rank < before; ++rank) {
    const auto [elements, states] = run_and_save(make(rank, before), 10);
    seen += joined_by_commas(elements) + ',';
    state = states.back();
  }
  for (std::uint64_t rank = 0; rank < behind; ++rank) {
    seen += joined_by_commas(elements_after(make(rank, behind), state)) + ',';
  }
  CHECK(sorted(parts_of(seen)) == sorted(parts_of(all)));
}

TEST_CASE("resume: too few files for the ranks do not mean a different declaration", "[pipeline]") {
  const temp_dir dir;
  for (const char* name : {"a", "b"}) dir.write(name, "1\n2\n3\n");
  const auto declare = [&] {
    return lines_of({.files = {dir / "*"}, .world = {.rank = 0, .world_size = 2}});
  };
  const std::string state = run_and_save(declare(), 2).second.back();
  std::filesystem::remove(dir / "b");  // such as on a disk that is not mounted yet
  CHECK(
      contains(restore_error(declare(), state),
               "cannot resume from its state: stage 'files': 1 files are not enough for 2 ranks"));
}

TEST_CASE("resume: another number of ranks continues with the same records", "[pipeline]") {
  const temp_dir dir;
  leat::block_on(write_record_files(dir, 1000));
  const auto ranks_of = [&](std::uint64_t rank, std::uint64_t world_size) {
    return leat::read_indexed({dir / "records???"},
                              {.num_epochs = 1,
                               .seed = 5,
                               .world = {.rank = rank, .world_size = world_size},
                               .batch_size = 6});
  };
  for (const auto& [before, behind] : {std::pair{2, 3}, {2, 1}, {1, 4}, {3, 2}}) {
    check_ranks(static_cast<std::uint64_t>(before), static_cast<std::uint64_t>(behind),
                [&](std::uint64_t rank, std::uint64_t world_size) {
                  return ranks_of(rank, world_size)
                      .batch({.batch_size = 4})
                      .map("join", join_rows)
                      .prefetch(2);
                });
    // A batch ends in the middle of the elements that a function has made of a block.
    check_ranks(static_cast<std::uint64_t>(before), static_cast<std::uint64_t>(behind),
                [&](std::uint64_t rank, std::uint64_t world_size) {
                  return ranks_of(rank, world_size)
                      .map("text", text_of_record, {.workers = 2})
                      .map("again", [](std::string text) { return text; })
                      .batch({.batch_size = 4})
                      .map("join", join_batch);
                });
  }
}

TEST_CASE("resume: another number of ranks restores held elements from all states", "[pipeline]") {
  const temp_dir dir;
  leat::block_on(write_record_files(dir, 1000));
  const auto ranks_of = [&](std::uint64_t rank, std::uint64_t world_size) {
    return leat::read_indexed(
        {dir / "records???"},
        {.num_epochs = 1, .seed = 5, .world = {.rank = rank, .world_size = world_size}});
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
  const std::string state = run_and_save(shuffled(0, 2), 70).second.back();
  for (const auto& [rank, world_size] : {std::pair{1U, 2U}, {0U, 3U}, {0U, 1U}}) {
    CHECK(contains(restore_error(shuffled(rank, world_size), state),
                   "stage 'shuffle': state has elements of rank 0 of 2, but this is rank " +
                       std::to_string(rank) + " of " + std::to_string(world_size) +
                       ": call restore_ranks() with the states of all 2 ranks"));
  }
  CHECK(elements_after(shuffled(0, 2), state).size() == 430);

  const texts states = run_and_save(words(0, 2), 3).second;
  CHECK(contains(restore_error(words(1, 2), states.back()),
                 "stage 'twice': state has elements of rank 0 of 2"));
}

// ------------------------------------------------------------------------- files shared by ranks

struct sharing {
  bool shuffle = false;
  std::size_t interleave = 1;
  std::uint64_t num_epochs = 1;
};

TEST_CASE("resume: files are redistributed to another number of ranks", "[pipeline]") {
  const temp_dir dir;
  write_line_files(dir, 400);
  for (const sharing how : {sharing{}, {true, 1, 1}, {true, 3, 1}, {false, 4, 2}, {true, 2, 3}}) {
    const auto lines = [&](std::uint64_t rank, std::uint64_t world_size) {
      return lines_of({.files = {dir / "lines*"},
                       .num_epochs = how.num_epochs,
                       .shuffle = how.shuffle,
                       .seed = 7,
                       .interleave = how.interleave,
                       .block_length = 5,
                       .world = {.rank = rank, .world_size = world_size}})
          .prefetch(2);
    };
    const std::vector<std::size_t> places =
        slow_build || is_repeated_run() ? std::vector<std::size_t>{1, 64}
                                        : std::vector<std::size_t>{0, 1, 3, 18, 64, 130, 500};
    for (const std::size_t some : places) {
      check_dealing({2, 3}, some, lines);
      check_dealing({4, 1}, some, lines);
      check_dealing({1, 5, 2, 3}, some, lines);
    }
  }
}

TEST_CASE("resume: batches of compressed records are redistributed", "[pipeline]") {
  const temp_dir dir;
  leat::block_on(write_record_files(dir, 1000, leat::compression::gzip));
  const auto records = [&](std::uint64_t rank, std::uint64_t world_size) {
    return leat::read_files<leat::tfrecord_reader>(
               {.files = {dir / "records???"},
                .interleave = 2,
                .world = {.rank = rank, .world_size = world_size},
                .reader = {.compression = leat::compression::gzip}})
        .batch({.batch_size = 4})
        .map("join", join_rows, {.workers = 2});
  };
  texts states(3);
  texts seen;
  for (std::uint64_t rank = 0; rank < 3; ++rank) {
    const texts part = go_on_with(records(rank, 3), {}, 20 + rank, &states[rank]);
    seen.insert(seen.end(), part.begin(), part.end());
  }
  for (std::uint64_t rank = 0; rank < 2; ++rank) {
    const texts part = go_on_with(records(rank, 2), states);
    CHECK(part.size() > 20);
    seen.insert(seen.end(), part.begin(), part.end());
  }
  CHECK(contents(seen) == contents(go_on_with(records(0, 1), {})));
}

TEST_CASE("resume: a file that another rank started continues after its header", "[pipeline]") {
  const temp_dir dir;
  for (const std::string name : {"a", "b", "c", "d"}) {
    dir.write(name, "header\n" + name + "1\n" + name + "2\n" + name + "3\n");
  }
  const auto lines = [&](std::uint64_t rank, std::uint64_t world_size) {
    return lines_of({.files = {dir / "?"},
                     .world = {.rank = rank, .world_size = world_size},
                     .reader = {.skip_header_lines = 1}});
  };
  texts states(2);
  CHECK(go_on_with(lines(0, 2), {}, 2, &states[0]) == texts{"a1", "a2"});
  CHECK(go_on_with(lines(1, 2), {}, 4, &states[1]) == texts{"b1", "b2", "b3", "d1"});
  CHECK(go_on_with(lines(0, 1), states) == texts{"a3", "d2", "d3", "c1", "c2", "c3"});
  CHECK(go_on_with(lines(0, 3), states) == texts{"a3"});
  CHECK(go_on_with(lines(1, 3), states) == texts{"d2", "d3"});
  CHECK(go_on_with(lines(2, 3), states) == texts{"c1", "c2", "c3"});
  // A rank without a share of this epoch has its share of the next one.
  const auto again = [&](std::uint64_t rank, std::uint64_t world_size, std::uint64_t epochs) {
    return lines_of({.files = {dir / "?"},
                     .num_epochs = epochs,
                     .world = {.rank = rank, .world_size = world_size},
                     .reader = {.skip_header_lines = 1}});
  };
  CHECK(go_on_with(again(3, 4, 2), states) == texts{"d1", "d2", "d3"});
  CHECK(go_on_with(again(3, 4, 1), states).empty());
}

TEST_CASE("resume: with an equal number of ranks each rank resumes its own state", "[pipeline]") {
  const temp_dir dir;
  write_line_files(dir, 400);
  const auto lines = [&](std::uint64_t rank) {
    return lines_of({.files = {dir / "lines*"}, .world = {.rank = rank, .world_size = 2}})
        .shuffle({.capacity = 20, .seed = 1});
  };
  const texts all = go_on_with(lines(1), {});
  texts states(2);
  go_on_with(lines(0), {}, 9, &states[0]);
  texts seen = go_on_with(lines(1), {}, 33, &states[1]);
  const texts rest = go_on_with(lines(1), states);
  seen.insert(seen.end(), rest.begin(), rest.end());
  CHECK(seen == all);
}

TEST_CASE("resume: rejects states that do not cover all ranks", "[pipeline]") {
  const temp_dir dir;
  write_line_files(dir, 400);
  const auto lines = [&](std::uint64_t rank, std::uint64_t world_size) {
    return lines_of({.files = {dir / "lines*"}, .world = {.rank = rank, .world_size = world_size}});
  };
  texts states(2);
  for (std::uint64_t r = 0; r < 2; ++r) go_on_with(lines(r, 2), {}, 10, &states[r]);
  CHECK(contains(restore_ranks_error(lines(0, 3), {}),
                 "no states were passed: pass the state of each rank"));
  CHECK(contains(
      restore_ranks_error(lines(0, 3), {states[1]}),
      "1 states were passed, but one belongs to rank 1 of 2: pass the state of each rank"));
  CHECK(contains(restore_ranks_error(lines(0, 3), {states[1], states[1]}),
                 "pass the state of each rank exactly once"));
  auto single = lines(0, 3);
  CHECK(contains(error_of(single.restore(states[1]), errc::failed_precondition),
                 "stage 'files': state belongs to rank 1 of 2, but this is rank 0 of 3: call "
                 "restore_ranks() with the states of all 2 ranks"));
  // After the error, the pipeline is as it was declared, and can be read.
  CHECK(!leat::block_on(read_all(single)).empty());
}

TEST_CASE("resume: rejects ranks with different seeds", "[pipeline]") {
  const temp_dir dir;
  write_line_files(dir, 400);
  leat::block_on(write_record_files(dir, 100));
  using seed = std::optional<std::uint64_t>;
  const auto check = [](auto make) {
    texts states(2);
    for (std::uint64_t r = 0; r < 2; ++r) go_on_with(make(r, 2, seed(7 + r)), {}, 3, &states[r]);
    CHECK(contains(restore_ranks_error(make(0, 1, seed()), states),
                   "seeds of rank 1 of 2 and rank 0 of 2 differ"));
  };
  check([&](std::uint64_t rank, std::uint64_t world_size, seed s) {
    return lines_of({.files = {dir / "lines*"},
                     .shuffle = true,
                     .seed = s,
                     .world = {.rank = rank, .world_size = world_size}});
  });
  check([&](std::uint64_t rank, std::uint64_t world_size, seed s) {
    return leat::read_indexed(
               {dir / "records???"},
               {.num_epochs = 1, .seed = s, .world = {.rank = rank, .world_size = world_size}})
        .map("text", text_of_record);
  });
}

TEST_CASE("resume: all ranks reject a changed file", "[pipeline]") {
  const temp_dir dir;
  for (const std::string name : {"a", "b", "c", "d"}) dir.write(name, "1\n2\n3\n");
  const auto lines = [&](std::uint64_t rank, std::uint64_t world_size) {
    return lines_of({.files = {dir / "?"}, .world = {.rank = rank, .world_size = world_size}});
  };
  texts states(2);
  for (std::uint64_t r = 0; r < 2; ++r) go_on_with(lines(r, 2), {}, 1, &states[r]);
  dir.write("b", "1\n2\n3\n4\n");
  for (std::uint64_t rank = 0; rank < 3; ++rank) {
    CHECK(
        contains(restore_ranks_error(lines(rank, 3), states), "bytes, but had 6 when it was read"));
  }
}

}  // namespace resume_ranks_test
