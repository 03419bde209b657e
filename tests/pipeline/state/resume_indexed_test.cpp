// Pipelines of read_indexed() that are saved and restored.

#include "leat/pipeline/read_indexed.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "pipeline/source/dealing.hpp"

namespace resume_indexed_test {

using namespace leat_test;

TEST_CASE("resume: names the changed file of read_indexed()", "[pipeline]") {
  const temp_dir dir;
  leat::block_on(write_record_files(dir, 200));
  const auto declare = [&] {
    return leat::read_indexed({dir / "records???"}, {.num_epochs = 2, .seed = 1, .batch_size = 7})
        .map("text", text_of_record);
  };
  const std::string state = run_and_save(declare(), 30).second.back();
  const auto refused = [&] { return restore_error(declare(), state); };
  const std::string path = dir / "records103";
  const auto then = std::filesystem::last_write_time(path);
  std::filesystem::last_write_time(path, then + std::chrono::seconds(1));
  CHECK(contains(refused(), "stage 'indexed_reader': state cannot be restored: '" + path +
                                "' was modified after it was read"));
  std::filesystem::last_write_time(path, then);
  {
    CHECK(elements_after(declare(), state).size() == 370);
  }
  const std::string other = dir / "records101";
  const auto size = std::to_string(std::filesystem::file_size(other));
  std::filesystem::copy_file(path, other, std::filesystem::copy_options::overwrite_existing);
  CHECK(contains(refused(), "'" + other + "' has " +
                                std::to_string(std::filesystem::file_size(path)) +
                                " bytes, but had " + size + " when it was read"));
}

TEST_CASE("resume: an error of read_indexed() does not mean a different declaration",
          "[pipeline]") {
  const temp_dir dir;
  leat::block_on(write_record_files(dir, 20));
  const auto declare = [&] {
    return leat::read_indexed({dir / "records???"}, {.num_epochs = 2, .batch_size = 7})
        .map("text", text_of_record);
  };
  const std::string state = run_and_save(declare(), 9).second.back();
  const std::string path = dir.write("records101.index", "no index, but a note of somebody's");
  CHECK(contains(restore_error(declare(), state),
                 "pipeline 'pipeline' cannot resume from its state: " + path));
}

TEST_CASE("resume: the pattern of read_indexed() does not match indexes that it wrote",
          "[pipeline]") {
  const temp_dir dir;
  leat::block_on(write_record_files(dir, 60));
  const auto declare = [&] {
    return leat::read_indexed({dir / "*"}, {.num_epochs = 1, .seed = 1, .batch_size = 7})
        .map("text", text_of_record);
  };
  const auto [all, states] = run_and_save(declare());
  REQUIRE(all.size() == 60);
  REQUIRE(std::filesystem::exists(dir / "records101.index"));
  CHECK(elements_after(declare(), states[20]) == elements_from(all, 20));
}

struct few_records {
  explicit few_records(int count) { leat::block_on(write_record_files(dir, count)); }
  [[nodiscard]] auto read(std::uint64_t rank, std::uint64_t world_size,
                          std::uint64_t num_epochs = 1) const {
    return leat::read_indexed({dir / "records???"},
                              {.num_epochs = num_epochs,
                               .seed = 5,
                               .world = {.rank = rank, .world_size = world_size},
                               .batch_size = 6});
  }
  temp_dir dir;
};

TEST_CASE("resume: ranks of read_indexed() with unequal numbers of records, in several epochs",
          "[pipeline]") {
  const few_records records(62);
  for (std::uint64_t rank = 0; rank < 3; ++rank) {
    check_resuming([&] { return records.read(rank, 3, 3).map("text", text_of_record); });
    check_resuming([&] {  // also between the two results of a record
      return records.read(rank, 3, 3).flat_map("twice", [](leat::byte_view r) {
        return texts(2, text_of_record(r));
      });
    });
  }
}

// Divided by records or by files, without further stages, and with a shuffle buffer and batches.
template <class Records>
void check_dealing_of(const Records& records) {
  for (const std::uint64_t num_epochs : {1U, 3U}) {
    check_dealing_everywhere([&](std::uint64_t rank, std::uint64_t world_size) {
      return records.read(rank, world_size, num_epochs).map("text", text_of_record).prefetch(2);
    });
  }
  check_dealing_everywhere([&](std::uint64_t rank, std::uint64_t world_size) {
    return records.read(rank, world_size, 2)
        .shuffle({.capacity = 9, .seed = 2})
        .batch({.batch_size = 4})
        .map("join", join_rows, {.workers = 2});
  });
}

TEST_CASE(
    "resume: remaining records of read_indexed() are redistributed, at any positions of the ranks",
    "[pipeline]") {
  const few_records records(62);
  check_dealing_of(records);
  check_dealing_everywhere([&](std::uint64_t rank, std::uint64_t world_size) {
    return records.read(rank, world_size)
        .flat_map("twice", [](leat::byte_view r) { return texts(2, text_of_record(r)); })
        .shuffle({.capacity = 5, .seed = 2});
  });
}

TEST_CASE("resume: a rank that has not started keeps its whole share", "[pipeline]") {
  const few_records records(62);
  const auto make = [&](std::uint64_t rank, std::uint64_t world_size) {
    return records.read(rank, world_size, 2).map("text", text_of_record);
  };
  texts states(2);
  auto first = make(0, 2);
  states[0] = first.save();
  texts seen = go_on_with(make(1, 2), {}, 40, &states[1]);  // in its second epoch
  for (std::uint64_t r = 0; r < 3; ++r) {
    const texts rest = go_on_with(make(r, 3), states);
    CHECK(rest.size() > 20);
    seen.insert(seen.end(), rest.begin(), rest.end());
  }
  CHECK(contents(seen) == contents(go_on_with(make(0, 1), {})));
}

// Some of the 62 records are corrupt and skipped.
TEST_CASE("resume: a skipped corrupt record does not shift later positions", "[pipeline]") {
  const few_records records(62);
  {
    std::fstream file(records.dir / "records103", std::ios::in | std::ios::out | std::ios::binary);
    for (const int offset : {12, 84, 210, 300}) {
      file.seekp(offset);
      file.put('#');
    }
  }
  const auto make = [&](std::uint64_t rank, std::uint64_t world_size) {
    return leat::read_indexed({records.dir / "records???"},
                              {.num_epochs = 2,
                               .seed = 5,
                               .world = {.rank = rank, .world_size = world_size},
                               .batch_size = 7,
                               .corruption = {.policy = leat::corruption_policy::skip_record}})
        .map("text", text_of_record);
  };
  const texts all = go_on_with(make(0, 1), {});
  REQUIRE(all.size() < 124);
  check_resuming([&] { return make(0, 1); });
  check_dealing_everywhere(make);
}

// By files: each rank has its own files.
struct owned_files {
  owned_files() { leat::block_on(write_records(dir, {5, 0, 3, 9, 1, 12, 7})); }
  [[nodiscard]] auto read(std::uint64_t rank, std::uint64_t world_size, std::uint64_t num_epochs,
                          leat::shard_remainder last = leat::shard_remainder::keep) const {
    return leat::read_indexed({dir / "records?"},
                              {.num_epochs = num_epochs,
                               .seed = 5,
                               .world = {.rank = rank, .world_size = world_size},
                               .shard = {.by = leat::shard_by::files, .remainder = last},
                               .batch_size = 4});
  }
  temp_dir dir;
};

TEST_CASE("resume: ranks with separate files, in several epochs", "[pipeline]") {
  const owned_files records;
  for (std::uint64_t rank = 0; rank < 2; ++rank) {
    check_resuming([&] { return records.read(rank, 2, 5).map("text", text_of_record); });
  }
}

TEST_CASE("resume: remaining records of ranks with separate files are redistributed",
          "[pipeline]") {
  const owned_files records;
  check_dealing_of(records);
  check_dealing_everywhere([&](std::uint64_t rank, std::uint64_t world_size) {
    return records.read(rank, world_size, 2)
        .batch({.batch_size = 5})
        .flat_map("rows", [](const auto& b) {
          texts all;
          for (const leat::byte_view row : b) all.push_back(text_of_record(row));
          return all;
        });
  });
}

TEST_CASE("resume: equal shares of separate files resume with another number of ranks",
          "[pipeline]") {
  const owned_files records;
  const texts all = contents(go_on_with(records.read(0, 1, 1).map("text", text_of_record), {}));
  for (const auto last : {leat::shard_remainder::drop, leat::shard_remainder::repeat}) {
    for (const std::size_t k : {1U, 2U}) {  // each rank has four or more
      texts states(3);
      texts seen;
      for (std::uint64_t r = 0; r < 3; ++r) {
        const texts had = go_on_with(records.read(r, 3, 1, last).map("text", text_of_record), {},
                                     k + r % 2, &states[r]);
        seen.insert(seen.end(), had.begin(), had.end());
      }
      std::vector<std::size_t> counts;
      for (std::uint64_t r = 0; r < 2; ++r) {
        const texts rest =
            go_on_with(records.read(r, 2, 1, last).map("text", text_of_record), states);
        counts.push_back(rest.size());
        seen.insert(seen.end(), rest.begin(), rest.end());
      }
      INFO(k);
      CHECK(counts[0] == counts[1]);
      texts once = contents(seen);
      const auto repeated = std::unique(once.begin(), once.end());
      if (last == leat::shard_remainder::drop) {
        CHECK(repeated == once.end());
        CHECK(once.size() + 1 >= all.size());
      } else {
        CHECK(texts(once.begin(), repeated) == all);
        CHECK(once.size() <= all.size() + 1);
      }
    }
  }
}

TEST_CASE("resume: rejects the state of one rank with separate files for another number of ranks",
          "[pipeline]") {
  const owned_files records;
  const auto make = [&](std::uint64_t rank, std::uint64_t world_size) {
    return records.read(rank, world_size, 1).map("text", text_of_record);
  };
  std::string state;
  go_on_with(make(1, 2), {}, 3, &state);
  CHECK(
      contains(restore_error(make(0, 1), state),
               "indexed_reader: cannot resume: state is in the middle of an epoch that divides its "
               "files among 2 ranks, but world_size is 1: pass the states of all 2 ranks to "));
}

}  // namespace resume_indexed_test
