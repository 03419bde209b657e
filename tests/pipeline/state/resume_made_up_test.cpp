// Pipelines that are restored from crafted states with a valid checksum. Impossible states are
// rejected with the name of the stage, before anything is read or allocated for them.

#include <functional>

#include "leat/base/bytes.hpp"
#include "leat/codec/checksum/crc32c.hpp"
#include "leat/io/index/indexed_reader_state.hpp"
#include "leat/pipeline/read_indexed.hpp"
#include "leat/pipeline/source/detail/indexed_state.hpp"
#include "pipeline/resuming.hpp"
#include "pipeline/saved_stages.hpp"

namespace resume_made_up_test {

using namespace leat_test;
using stages = saved_stages;

constexpr std::uint64_t huge = std::uint64_t{1} << 60;

// Three files of lines, in many epochs.
struct few_lines {
  few_lines() {
    dir.write("a", "1\n2\n3\n");
    dir.write("b", "4\n5\n");
    dir.write("c", "6\n7\n8\n9\n");
  }
  [[nodiscard]] auto read(std::uint64_t rank = 0, std::uint64_t world_size = 1) const {
    return lines_of({.files = {dir / "?"},
                     .num_epochs = std::nullopt,
                     .interleave = 2,
                     .block_length = 2,
                     .world = {.rank = rank, .world_size = world_size}},
                    {.name = "made up"});
  }
  temp_dir dir;
};

// Returns the message with which restore() or the first next() rejects a changed state.
template <class Pipeline>
std::string refused(Pipeline p, const std::string& state,
                    const std::function<void(stages&)>& change,
                    errc expected = errc::failed_precondition) {
  stages all = stages_of(state);
  change(all);
  const auto body = [](Pipeline& restored, std::string bytes) -> task<> {
    co_await restored.restore(std::move(bytes));
    static_cast<void>(co_await restored.next());
  };
  std::string why = error_of(body(p, leat::detail::stages_to_bytes(all)), expected);
  leat::block_on(p.stop());
  return why;
}

template <class Pipeline>
std::string state_behind(Pipeline p, std::size_t elements) {
  return run_and_save(std::move(p), elements).second.back();
}

TEST_CASE("resume: rejects an invalid number of records without reading epoch after epoch",
          "[pipeline]") {
  const few_lines lines;
  const std::string state = state_behind(lines.read(), 5);
  CHECK(contains(
      refused(lines.read(), state, change_files([](auto& f) { f.records = huge; })),
      "stage 'files': state cannot be restored: it has read more records than an epoch contains"));
  CHECK(contains(refused(lines.read(), state, change_files([](auto& f) {
                           f = leat::detail::files_state{.records = huge};
                         })),
                 "it has read more records than an epoch contains"));
}

TEST_CASE("resume: rejects an epoch number that is too large", "[pipeline]") {
  const few_lines lines;
  const std::string state = state_behind(lines.read(), 5);
  for (const std::uint64_t epoch : {UINT64_MAX, UINT64_MAX - 1, std::uint64_t{1} << 63}) {
    CHECK(contains(refused(lines.read(), state, change_files([&](auto& f) { f.epoch = epoch; })),
                   "stage 'files': state cannot be restored: epoch " + std::to_string(epoch) +
                       " is greater than the maximum of "));
  }
}

TEST_CASE("resume: rejects a state with records but without files", "[pipeline]") {
  const few_lines lines;
  const std::string state = state_behind(lines.read(), 5);
  CHECK(contains(refused(lines.read(), state, change_files([](auto& f) { f.files.clear(); })),
                 "stage 'files': state cannot be restored: the stage has 3 files, but had 0 when "
                 "it was saved"));
}

TEST_CASE("resume: rejects states of ranks that are epochs apart", "[pipeline]") {
  const few_lines lines;
  const std::vector<std::string> good = {state_behind(lines.read(0, 2), 1),
                                         state_behind(lines.read(1, 2), 2)};
  for (const std::uint64_t epoch : {std::uint64_t{2000}, std::uint64_t{1} << 62}) {
    stages ahead = stages_of(good[1]);
    change_files([&](auto& f) { f.epoch = epoch; })(ahead);
    const std::string why =
        restore_ranks_error(lines.read(), {good[0], leat::detail::stages_to_bytes(ahead)});
    CHECK(contains(why, "stage 'files': state cannot be restored: rank 0 of 2 is "));
    CHECK(contains(why, " epochs behind another rank"));
  }
}

TEST_CASE("resume: rejects the fields of another stage", "[pipeline]") {
  const few_lines lines;
  const auto declared = [&] { return lines.read().shuffle({.capacity = 3, .seed = 1}); };
  const std::string state = state_behind(declared(), 4);
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t other = 0; other < 3; ++other) {
      const stages all = stages_of(state);
      if (i == other || all[other].own.empty()) continue;
      const auto add = [&](stages& changed) { changed[i].own += changed[other].own; };
      CHECK(contains(refused(declared(), state, add, errc::unimplemented),
                     "pipeline 'made up', stage '" + all[i].name +
                         "': state has unknown fields: it was saved by a later version of leat"));
    }
  }
}

TEST_CASE("resume: rejects options that a stage does not have", "[pipeline]") {
  const few_lines lines;
  const auto declared = [&] { return lines.read().shuffle({.capacity = 3, .seed = 1}); };
  const std::string state = state_behind(declared(), 4);
  const auto add = [](stages& all) { all[2].settings.push_back({"window", 7}); };
  CHECK(contains(refused(declared(), state, add, errc::invalid_argument),
                 "pipeline 'made up', stage 'shuffle': window was 7 when the state was saved, but "
                 "the stage has no such option: restore it with the version of leat that saved "
                 "it"));
  const auto remove = [](stages& all) { all[2].settings.clear(); };
  CHECK(contains(refused(declared(), state, remove, errc::invalid_argument),
                 "stage 'shuffle': capacity is 3, but was unknown when the state was saved"));
}

TEST_CASE("resume: rejects a later version of a stage", "[pipeline]") {
  const few_lines lines;
  const std::string state = state_behind(lines.read(), 4);
  CHECK(contains(
      refused(
          lines.read(), state, [](stages& all) { all[1].version = 2; }, errc::unimplemented),
      "pipeline 'made up', stage 'text': state has version 2, but this version of leat "
      "reads only version 1"));
}

TEST_CASE("resume: rejects the bytes of a stage in a form that it does not write", "[pipeline]") {
  const few_lines lines;
  const std::string state = state_behind(lines.read(), 4);
  const auto twice = [](stages& all) { all[0].own += all[0].own; };
  CHECK(contains(refused(lines.read(), state, twice, errc::invalid_argument),
                 "pipeline 'made up', stage 'files': state cannot be restored: its bytes are not "
                 "in the form that a pipeline writes"));
  const auto cut = [](stages& all) { all[0].own.pop_back(); };
  CHECK(contains(refused(lines.read(), state, cut, errc::invalid_argument),
                 "stage 'files': state cannot be restored: its bytes are not the state of a "
                 "stage"));
}

TEST_CASE("resume: rejects a state that skips more elements than a function makes", "[pipeline]") {
  const few_lines lines;
  const auto declared = [&] {
    return lines.read().batch({.batch_size = 3}).flat_map("each", [](texts batch) {
      return batch;
    });
  };
  const std::string state = state_behind(declared(), 4);
  const auto begun = state_in<leat::detail::flat_map_state>(stages_of(state)[3]).begun;
  REQUIRE(begun.at(0).had == 1);
  for (const std::uint64_t had : {std::uint64_t{4}, huge, UINT64_MAX}) {
    CHECK(contains(refused(declared(), state, change_begun(3, [&](auto& b) { b[0].had = had; })),
                   "stage 'each': state cannot be restored: the function returned other elements "
                   "than before"));
  }
}

std::string with_checksum(std::string content) {
  char sum[4];
  leat::store_little_endian(reinterpret_cast<std::byte*>(sum),
                            leat::crc32c(leat::as_bytes(content)));
  return content + '\x7d' + std::string(sum, sizeof sum);
}

TEST_CASE("resume: rejects states of a later version", "[pipeline]") {
  const few_lines lines;
  const std::string state = state_behind(lines.read(), 1);
  const std::string content = state.substr(0, state.size() - 5);
  REQUIRE(with_checksum(content) == state);
  const auto refusal = [&](const std::string& changed) {
    return restore_error(lines.read(), with_checksum(changed), errc::unimplemented);
  };
  const char* const version = "has version 2, but this version of leat reads only version 1";
  const char* const fields = "has unknown fields: it was saved by a later version of leat";
  CHECK(contains(refusal("\x08\x02" + content.substr(2)), version));
  CHECK(contains(refusal(content + "\x18\x01"), fields));
  stages unknown = stages_of(state);
  unknown[1].own = "\x78\x01";
  const std::string bytes = leat::detail::stages_to_bytes(unknown);
  CHECK(contains(refusal(bytes.substr(0, bytes.size() - 5)), "stage 'text': state has unknown"));
  CHECK(contains(refusal("\x08\x02\x18\x01"), version));  // fields of a later version
}

// The same message in another encoding.
TEST_CASE("resume: rejects bytes in a form that a pipeline does not write", "[pipeline]") {
  const few_lines lines;
  const std::string state = state_behind(lines.read(), 5);
  const auto refusal = [&](const std::string& content) {
    return restore_error(lines.read(), with_checksum(content), errc::invalid_argument);
  };
  const std::string content = state.substr(0, state.size() - 5);
  const char* const expected =
      "pipeline 'made up': state cannot be restored: its bytes are not in the form that a pipeline "
      "writes";
  CHECK(contains(refusal(content.substr(2) + content.substr(0, 2)), expected));
  CHECK(contains(refusal("\x08\x81" + std::string(1, '\0') + content.substr(2)), expected));
  CHECK(contains(refusal(content.substr(0, 2) + content), expected));
}

TEST_CASE("resume: rejects an indexed reader with an epoch number that is too large",
          "[pipeline]") {
  const temp_dir dir;
  leat::block_on(write_record_files(dir, 40));
  const auto declared = [&](std::uint64_t rank, std::uint64_t world_size) {
    return leat::read_indexed({dir / "records???"},
                              {.num_epochs = 2,
                               .seed = 5,
                               .world = {.rank = rank, .world_size = world_size},
                               .batch_size = 2})
        .map("text", text_of_record);
  };
  const auto in_epoch = [](std::uint64_t epoch) {
    return change_in<leat::detail::indexed_state>(0, [epoch](auto& own) {
      auto s = leat::indexed_reader_state::from_bytes(own.reader, "test");
      s.epoch = epoch;
      own.reader = s.to_bytes();
    });
  };
  const std::string state = state_behind(declared(0, 1), 5);
  CHECK(contains(refused(declared(0, 1), state, in_epoch(2)), "it is in epoch 3"));
  CHECK(contains(refused(declared(0, 1), state, in_epoch((std::uint64_t{1} << 63) - 1)),
                 "it is in epoch 9223372036854775808"));
  for (const std::uint64_t epoch : {std::uint64_t{1} << 63, UINT64_MAX}) {
    CHECK(
        contains(refused(declared(0, 1), state, in_epoch(epoch)), "number of epochs is too large"));
  }
  // For ranks in the last epoch that can be counted, the parts would have covered all epochs.
  std::vector<std::string> states;
  for (const std::uint64_t rank : {0U, 1U}) {
    stages all = stages_of(state_behind(declared(rank, 2), 1 + 2 * rank));
    in_epoch(UINT64_MAX)(all);
    states.push_back(leat::detail::stages_to_bytes(all));
  }
  CHECK(contains(restore_ranks_error(declared(0, 1), states, errc::invalid_argument),
                 "number of epochs is too large"));
}

}  // namespace resume_made_up_test
