// Pipelines that are saved between two results of flat_map() for a batch. The batch is rebuilt, in
// this rank or in another, and the results that were received are not repeated.

#include <algorithm>

#include "input/few_files.hpp"
#include "leat/io/reader/tfrecord_reader.hpp"
#include "leat/pipeline/read_indexed.hpp"
#include "pipeline/saved_stages.hpp"
#include "pipeline/source/dealing.hpp"

namespace resume_batches_test {

using namespace leat_test;
using stages = saved_stages;

auto batches_of(const stages& all, std::size_t i) {
  return state_in<leat::detail::batch_state>(all[i]).batches;
}

// Checks that the pipeline continues, as one rank and as other numbers of ranks.
template <class Make>
void check_both(Make make) {
  check_resuming([&] { return make(0, 1); });
  check_dealing_everywhere(make);
}

TEST_CASE("resume: within the elements of a batch, to any number of ranks", "[pipeline]") {
  const few_files lines;
  for (const std::size_t workers : {0U, 2U}) {
    check_dealing_everywhere([&](std::uint64_t rank, std::uint64_t world_size) {
      return lines.read(rank, world_size)
          .batch({.batch_size = 4})
          .flat_map("lines", same, {.workers = workers});
    });
    check_both([&](std::uint64_t rank, std::uint64_t world_size) {
      return lines.read(rank, world_size)
          .batch({.batch_size = 7})
          .prefetch(1)
          .map("same", same, {.workers = workers})
          .flat_map("lines", same, {.workers = workers})
          .map("odd", odd)
          .flat_map("parts", parts);
    });
  }
}

TEST_CASE("resume: within batches of elements from buffers and functions", "[pipeline]") {
  const few_files lines;
  check_both([&](std::uint64_t rank, std::uint64_t world_size) {  // some lines twice in a batch
    return lines.read(rank, world_size, 3)
        .shuffle({.capacity = 60, .seed = 1})
        .batch({.batch_size = 11})
        .flat_map("lines", same);
  });
  check_both([&](std::uint64_t rank, std::uint64_t world_size) {
    return lines.read(rank, world_size)
        .map("odd", odd)
        .flat_map("parts", parts, {.workers = 2})
        .shuffle({.capacity = 6, .seed = 4})
        .batch({.batch_size = 5})
        .flat_map("lines", same, {.workers = 2})
        .prefetch(2);
  });
  check_resuming([&] {
    return lines.read(0, 1)
        .flat_map("parts", parts)
        .batch({.batch_size = 3})
        .map("some",
             [](texts batch) -> std::optional<texts> {
               if (batch.front().back() == 'b') return std::nullopt;
               return batch;
             })
        .flat_map("lines", same);
  });
}

TEST_CASE("resume: within batches of batches", "[pipeline]") {
  const few_files lines;
  check_both([&](std::uint64_t rank, std::uint64_t world_size) {
    return lines.read(rank, world_size)
        .batch({.batch_size = 3})
        .batch({.batch_size = 2, .name = "batches"})
        .flat_map("lines", lines_of_all);
  });
  check_both([&](std::uint64_t rank, std::uint64_t world_size) {
    return lines.read(rank, world_size)
        .batch({.batch_size = 4})
        .flat_map("lines", same, {.workers = 2})
        .batch({.batch_size = 3, .name = "again"})
        .map("same", same, {.workers = 2})
        .flat_map("lines again", same)
        .flat_map("parts", parts);
  });
}

TEST_CASE("resume: keeps a partly consumed batch while later batches produce no element",
          "[pipeline]") {
  const few_files lines;
  const auto make = [&] {
    return lines.read(0, 1)
        .batch({.batch_size = 4})
        .flat_map("lines", same)
        .map("few",
             [](std::string text) -> std::optional<std::string> {
               if (text.size() == 3 && text[1] == '2') return std::nullopt;  // five batches
               return text;
             })
        .flat_map("parts", parts)
        .batch({.batch_size = 7, .name = "again"})
        .flat_map("lines again", same);
  };
  const auto [all, states] = run_and_save(make());
  for (std::size_t k = 0; k < states.size(); k += slow_build ? 7 : 1) {
    const auto [elements, after] = restore_and_save(make(), states[k]);
    INFO(k);
    REQUIRE(elements == elements_from(all, k));
    for (std::size_t i = k % 8; i < after.size(); i += 8) {
      REQUIRE(
          elements_after(make(), after[i], 20) ==
          texts(elements.begin() + static_cast<std::ptrdiff_t>(i),
                elements.begin() + static_cast<std::ptrdiff_t>(std::min(i + 20, elements.size()))));
    }
  }
}

texts texts_of_rows(const leat::owned_record_batch& rows) {
  texts all;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const leat::record_position at = rows.position(i);
    const std::string path(at.path);
    all.push_back(text_of_record(rows[i]) + " in " + path.substr(path.size() - 3) + " at " +
                  std::to_string(at.index));
  }
  return all;
}

TEST_CASE("resume: a rebuilt batch has the same rows and positions", "[pipeline]") {
  const temp_dir dir;
  leat::block_on(write_record_files(dir, 100, leat::compression::gzip));
  check_both([&](std::uint64_t rank, std::uint64_t world_size) {
    return leat::read_files<leat::tfrecord_reader>(
               {.files = {dir / "records???"},
                .interleave = 2,
                .block_length = 3,
                .world = {.rank = rank, .world_size = world_size},
                .reader = {.compression = leat::compression::gzip}})
        .batch({.batch_size = 6})
        .flat_map("rows", texts_of_rows);
  });
  const temp_dir plain;
  leat::block_on(write_record_files(plain, 60));
  check_both([&](std::uint64_t rank, std::uint64_t world_size) {
    return leat::read_indexed({plain / "records???"},
                              {.num_epochs = 2,
                               .seed = 5,
                               .world = {.rank = rank, .world_size = world_size},
                               .batch_size = 8})
        .shuffle({.capacity = 9, .seed = 2})
        .batch({.batch_size = 6})
        .flat_map("rows", texts_of_rows, {.workers = 2});
  });
}

// A type without copy and default constructors.
struct only_text {
  explicit only_text(std::string t) : text(std::make_unique<std::string>(std::move(t))) {}
  std::unique_ptr<std::string> text;
};

TEST_CASE("resume: batches of move-only elements", "[pipeline]") {
  const few_files lines;
  check_both([&](std::uint64_t rank, std::uint64_t world_size) {
    return lines.read(rank, world_size, 2)
        .shuffle({.capacity = 70, .seed = 1})
        .map("only", [](std::string text) { return only_text(std::move(text)); })
        .batch({.batch_size = 9})
        .flat_map("lines", [](const std::vector<only_text>& batch) {
          texts all;
          for (const only_text& each : batch) all.push_back(*each.text);
          return all;
        });
  });
}

auto declare(const few_files& lines, std::uint64_t rank = 0, std::uint64_t world_size = 1) {
  return lines.read(rank, world_size).batch({.batch_size = 4}).flat_map("lines", same);
}

TEST_CASE("resume: a state contains only the batches that stages need", "[pipeline]") {
  const few_files lines;
  const texts states = run_and_save(declare(lines)).second;
  for (std::size_t k = 0; k < states.size(); ++k) {
    const stages all = stages_of(states[k]);
    const auto batches = batches_of(all, 2);
    const bool is_in_midst = k % 4 != 0;
    INFO(k);
    REQUIRE(batches.size() == (is_in_midst ? 1 : 0));
    const auto each = state_in<leat::detail::flat_map_state>(all[3]);
    REQUIRE(each.begun.size() == batches.size());
    if (is_in_midst) CHECK(batches[0].size() == 4);
    CHECK(restore_and_save(declare(lines), states[k], 0).second.front() == states[k]);
  }
  // Of the batches of several ranks, a rank holds only those that it needs.
  texts of_ranks(3);
  for (std::uint64_t r = 0; r < 3; ++r) go_on_with(declare(lines, r, 3), {}, 5 + r, &of_ranks[r]);
  std::size_t held = 0;
  for (std::uint64_t r = 0; r < 2; ++r) {
    std::string restored;
    go_on_with(declare(lines, r, 2), of_ranks, 0, &restored);
    const auto batches = batches_of(stages_of(restored), 2);
    CHECK(batches.size() == (r == 0 ? 2 : 1));
    held += batches.size();
  }
  CHECK(held == 3);
}

TEST_CASE("resume: the rest of a batch continues on its rank, or on all ranks with all states",
          "[pipeline]") {
  const few_files lines({5, 3, 12, 0, 9, 16, 15});
  texts states(2);
  for (std::uint64_t r = 0; r < 2; ++r) go_on_with(declare(lines, r, 2), {}, 6, &states[r]);
  CHECK(contains(restore_error(declare(lines), states[0]),
                 "call restore_ranks() with the states of all 2 ranks"));
  const texts rest = go_on_with(declare(lines), states);
  CHECK(rest.size() == 60 - 12);
  const texts first(rest.begin(), rest.begin() + 4);  // the rest of both batches comes first
  const texts of_first = run_and_save(declare(lines, 0, 2)).first;
  CHECK(texts(first.begin(), first.begin() + 2) ==
        texts(of_first.begin() + 6, of_first.begin() + 8));
}

TEST_CASE("resume: the rest of a batch follows an error in it", "[pipeline]") {
  const few_files lines;
  bool fails = true;
  const auto make = [&](std::uint64_t rank, std::uint64_t world_size) {
    return lines.read(rank, world_size)
        .batch({.batch_size = 4})
        .flat_map("lines", same)
        .flat_map("parts", [&](const std::string& text) {
          if (fails && text == "102") throw std::runtime_error("a transient lookup");
          return parts(text);
        });
  };
  auto [seen, state] = read_to_error(make(0, 1));
  REQUIRE(seen.size() > 10);
  fails = false;
  const texts all = go_on_with(make(0, 1), {});
  CHECK(elements_after(make(0, 1), state) == elements_from(all, seen.size()));
  for (std::uint64_t r = 0; r < 3; ++r) {
    const texts part = go_on_with(make(r, 3), {state});
    seen.insert(seen.end(), part.begin(), part.end());
  }
  CHECK(contents(seen) == contents(all));
}

TEST_CASE("resume: rejects a batch whose elements cannot be produced again", "[pipeline]") {
  const few_files lines;
  bool leaves_out = false;
  const auto make = [&] {
    return lines.read(0, 1)
        .map("some",
             [&](std::string text) -> std::optional<std::string> {
               if (leaves_out && text == "91") return std::nullopt;
               return text;
             })
        .batch({.batch_size = 4})
        .flat_map("lines", same);
  };
  const std::string state = run_and_save(make(), 2).second.back();
  leaves_out = true;
  CHECK(contains(restore_error(make(), state),
                 "stage 'batch': state cannot be restored: an element of a partly consumed batch "
                 "could not be produced again"));
}

TEST_CASE("resume: rejects invalid batches in a state", "[pipeline]") {
  const few_files lines;
  const auto declared = [&] {
    return declare(lines).batch({.batch_size = 3, .name = "again"}).flat_map("lines again", same);
  };
  const stages good = stages_of(run_and_save(declared(), 4).second.back());
  REQUIRE(batches_of(good, 2).size() == 2);
  REQUIRE(batches_of(good, 4).size() == 1);
  const auto refused = [&](const stages_change& change, errc code) {
    stages changed = good;
    change(changed);
    return restore_error(declared(), leat::detail::stages_to_bytes(changed), code);
  };
  const auto check = [&](const std::string& why, const stages_change& change) {
    INFO(why);
    CHECK(contains(refused(change, errc::invalid_argument), "pipeline 'pipeline', " + why));
  };
  const std::string lacks =
      "': state cannot be restored: it has elements of a batch that it does not contain";
  const std::string others =
      "': state cannot be restored: its batches are not those that later stages had partly "
      "consumed";
  const std::string size =
      "': state cannot be restored: it has a batch of more elements than batch_size";
  check("stage 'lines again" + lacks, change_begun(5, [](auto& b) { b[0].what.index = 1; }));
  check("stage 'lines again" + lacks, change_begun(5, [](auto& b) { b[0].what.file = 1; }));
  check("stage 'lines again" + lacks, change_begun(5, [](auto& b) { b[0].what.offset = 1; }));
  check("stage 'again" + lacks, change_batches(4, [](auto& b) { b[0][0].index = 1; }));
  check("stage 'again" + others, change_batches(4, [](auto& b) { b.clear(); }));
  check("stage 'again" + others, change_batches(4, [](auto& b) { b.resize(2, b[0]); }));
  check("stage 'batch" + others, change_batches(2, [](auto& b) { b.pop_back(); }));
  check("stage 'again" + size, change_batches(4, [](auto& b) { b[0].resize(4, b[0][0]); }));
  check("stage 'batch" + size, change_batches(2, [](auto& b) { b[1].resize(5, b[1][0]); }));
  const std::string begun =
      "the function returned other elements than before for a partly consumed element";
  for (const std::uint64_t had : {std::uint64_t{4}, std::uint64_t{1} << 60, UINT64_MAX}) {
    CHECK(contains(
        refused(change_begun(5, [&](auto& b) { b[0].had = had; }), errc::failed_precondition),
        "stage 'lines again': state cannot be restored: " + begun));
  }
  const auto in_batch = [&](auto change) {
    return refused(change_batches(2, [&](auto& b) { change(b[0][0]); }), errc::failed_precondition);
  };
  CHECK(contains(in_batch([](leat::detail::origin& o) { o.file = 99; }), "stage 'files'"));
  CHECK(contains(in_batch([](leat::detail::origin& o) { o.offset = 1; }),
                 "no longer exists, but is needed to restore a state"));
  CHECK(contains(in_batch([](leat::detail::origin& o) { o.branch = 1; }),
                 "stage 'batch': state cannot be restored: an element of a partly consumed batch "
                 "could not be produced again"));
  CHECK(contains(
      refused(change_batches(4, [](auto& b) { b[0][0].branch = 1; }), errc::failed_precondition),
      "stage 'again': state cannot be restored: an element of a partly consumed batch"));
}

TEST_CASE("resume: rejects a state of an earlier version without the elements of a batch",
          "[pipeline]") {
  const few_files lines;
  stages all = stages_of(run_and_save(declare(lines), 4).second.back());
  all.back().own = "\x20\x02";
  const std::string bytes = leat::detail::stages_to_bytes(all);
  CHECK(contains(
      restore_error(declare(lines), bytes, errc::unimplemented),
      "pipeline 'pipeline', stage 'lines': state was saved by an earlier version of leat after the "
      "stage had passed on only a part of a batch: restore a state that was saved at the end of a "
      "batch"));
}

}  // namespace resume_batches_test
