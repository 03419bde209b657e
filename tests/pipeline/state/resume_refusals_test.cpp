// Saved and restored pipelines: rejected states, and the errors at the end.

#include <filesystem>

#include "leat/io/backend/descriptor_path.hpp"
#include "leat/io/reader/tfrecord_reader.hpp"
#include "leat/io/reader/whole_file_reader.hpp"
#include "leat/pipeline/read_indexed.hpp"
#include "leat/pipeline/read_queue.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "pipeline/resuming.hpp"
#include "pipeline/saved_stages.hpp"

namespace resume_refusals_test {

using namespace leat_test;

struct choices {
  std::size_t interleave = 2;
  std::size_t capacity = 5;
  std::optional<std::uint64_t> seed = 1;
  std::size_t batch = 3;
  std::string shuffle = "shuffle";
  std::optional<std::uint64_t> num_epochs = 1;
};

auto declared(const temp_dir& dir, choices c = {}) {
  return lines_of({.files = {dir / "*"}, .num_epochs = c.num_epochs, .interleave = c.interleave},
                  {.name = "train"})
      .shuffle({.capacity = c.capacity, .seed = c.seed, .name = c.shuffle})
      .batch({.batch_size = c.batch})
      .map("join", join_batch)
      .prefetch(1);
}

struct saved_pipeline {
  saved_pipeline() {
    dir.write("a", "1\n2\n3\n4\n5\n6\n7\n");
    dir.write("b", "11\n12\n13\n14\n");
    dir.write("c", "21\n22\n23\n24\n25\n");
    auto [elements, after] = run_and_save(declared(dir));
    all = std::move(elements);
    states = std::move(after);
    CHECK(all.size() == 6);
  }

  // Returns the message with which the state after two elements is rejected.
  template <class Pipeline>
  std::string refused(Pipeline p, errc expected = errc::invalid_argument) {
    return refused_state(std::move(p), states[2], expected);
  }
  template <class Pipeline>
  std::string refused_state(Pipeline p, std::string state,
                            errc expected = errc::failed_precondition) {
    return restore_error(std::move(p), std::move(state), expected);
  }

  temp_dir dir;
  texts all;
  texts states;
};

TEST_CASE("resume: rejects a different pipeline and names the difference", "[pipeline]") {
  saved_pipeline s;
  CHECK(contains(s.refused(declared(s.dir, {.interleave = 1})),
                 "pipeline 'train', stage 'files': interleave is 1, but was 2 when the state was "
                 "saved"));
  CHECK(contains(s.refused(declared(s.dir, {.capacity = 6})),
                 "stage 'shuffle': capacity is 6, but was 5"));
  CHECK(contains(s.refused(declared(s.dir, {.batch = 4})), "stage 'batch': size is 4, but was 3"));
  CHECK(contains(s.refused(declared(s.dir, {.seed = 2}), errc::failed_precondition),
                 "stage 'shuffle': state cannot be restored: seed is 2, but was 1"));
  CHECK(contains(s.refused(declared(s.dir, {.shuffle = "mix"})),
                 "stages are line_reader 'files', map 'text', shuffle 'mix', batch 'batch', "
                 "map 'join', but were line_reader 'files', map 'text', shuffle 'shuffle'"));
  CHECK(contains(s.refused(lines_of({.files = {s.dir / "*"}})), "stages are"));
}

// Returns the message with which a pipeline rejects the state of another one after its first
// element.
template <class Declare, class Options>
std::string refused_with(Declare declare, const Options& then, const Options& now) {
  const auto [all, states] = run_and_save(declare(then), 1);
  REQUIRE(all.size() == 1);
  CHECK(elements_after(declare(then), states[1], 1).size() == 1);
  return restore_error(declare(now), states[1], errc::invalid_argument);
}

TEST_CASE("resume: rejects different reader options by name", "[pipeline]") {
  using leat::corruption_policy;
  const temp_dir dir;
  dir.write("lines", "1\n2\n3\n");
  leat::block_on(write_record_files(dir, 30));
  const auto lines = [&](const leat::line_reader_options& o) {
    return lines_of({.files = {dir / "lines"}, .reader = o});
  };
  const leat::line_reader_options line;
  CHECK(contains(refused_with(lines, line, {.max_line_size = 99}),
                 "pipeline 'pipeline', stage 'files': max_line_size is 99, but was 16777216 when"));
  CHECK(
      contains(refused_with(lines, line, {.corruption = {.policy = corruption_policy::skip_file}}),
               "corruption.policy is 3, but was 0"));

  const auto records = [&](const leat::tfrecord_reader_options& o) {
    return leat::read_files<leat::tfrecord_reader>({.files = {dir / "records???"}, .reader = o})
        .map("text", text_of_record);
  };
  const leat::tfrecord_reader_options record;
  CHECK(contains(refused_with(records, record, {.checks = leat::tfrecord_checks::none}),
                 "checks is 2, but was 0"));
  CHECK(contains(refused_with(records, record, {.max_record_size = 99}),
                 "max_record_size is 99, but was 1073741824"));
  CHECK(contains(refused_with(records, record, {.tolerate_truncated_tail = true}),
                 "tolerate_truncated_tail is 1, but was 0"));
  CHECK(contains(refused_with(records, record, {.decompression = {.max_output = 9}}),
                 "inflate.max_output is 9, but was"));

  const auto whole = [&](const leat::whole_file_reader_options& o) {
    return leat::read_files<leat::whole_file_reader>({.files = {dir / "*"}, .reader = o})
        .map("text", text_of_record);
  };
  CHECK(contains(refused_with(whole, leat::whole_file_reader_options(), {.max_file_size = 1 << 20}),
                 "max_file_size is 1048576, but was"));
}

TEST_CASE("resume: rejects different options of read_indexed() by name", "[pipeline]") {
  using options = leat::indexed_reader_options;
  const temp_dir dir;
  leat::block_on(write_record_files(dir, 30));
  const auto indexed = [&](const options& o) {
    return leat::read_indexed({dir / "records???"}, o).map("text", text_of_record);
  };
  const options first{.num_epochs = 3, .seed = 1};
  const auto refused = [&](auto change) {
    options now = first;
    change(now);
    return refused_with(indexed, first, now);
  };
  CHECK(contains(refused([](options& o) { o.shard.remainder = leat::shard_remainder::repeat; }),
                 "stage 'indexed_reader': shard.last is 2, but was 0 when the state was saved"));
  CHECK(contains(refused([](options& o) { o.file.checks = leat::tfrecord_checks::header_only; }),
                 "checks is 1, but was 0"));
  CHECK(contains(refused([](options& o) { o.file.max_record_size = 99; }),
                 "max_record_size is 99, but was 1073741824"));
  CHECK(contains(
      refused([](options& o) { o.corruption.policy = leat::corruption_policy::skip_record; }),
      "corruption.policy is 1, but was 0"));

  const auto [all, states] = run_and_save(indexed(first));
  REQUIRE(all.size() == 90);
  const auto with_epochs = [&](std::uint64_t epochs) {
    return indexed({.num_epochs = epochs, .seed = 1});
  };
  for (const std::size_t k : {30U, 60U}) {  // where the last epoch ends
    CHECK(elements_after(with_epochs(k / 30), states[k]).empty());
  }
  for (const std::size_t k : {31U, 61U, 90U}) {
    INFO(k);
    CHECK(contains(restore_error(with_epochs(k == 31 ? 1 : 2), states[k]),
                   "stage 'indexed_reader': state cannot be restored: it is in epoch " +
                       std::string(k == 31 ? "2" : "3") + ", but num_epochs is " +
                       (k == 31 ? "1" : "2")));
  }
}

TEST_CASE("resume: rejects different files by name", "[pipeline]") {
  saved_pipeline s;
  const auto restore = [&] { return s.refused(declared(s.dir), errc::failed_precondition); };
  SECTION("larger") {
    s.dir.write("a", "1\n2\n3\n4\n5\n6\n7\n8\n");
    CHECK(contains(restore(), "stage 'files': state cannot be restored: '" + (s.dir / "a") +
                                  "' has 16 bytes, but had 14 when it was read"));
  }
  SECTION("modified") {
    const auto time = std::filesystem::last_write_time(s.dir / "b");
    std::filesystem::last_write_time(s.dir / "b", time + std::chrono::seconds(1));
    CHECK(contains(restore(), (s.dir / "b") + "' was modified after it was read"));
  }
  SECTION("one more") {
    s.dir.write("d", "31\n");
    CHECK(contains(restore(), "the stage has 4 files, but had 3 when it was saved"));
  }
  SECTION("of another name") {
    std::filesystem::rename(s.dir / "b", s.dir / "bb");
    CHECK(contains(restore(), (s.dir / "bb") + "' was not among the files"));
  }
  SECTION("none") {
    for (const char* name : {"a", "b", "c"}) std::filesystem::remove(s.dir / name);
    CHECK(contains(s.refused(declared(s.dir), errc::not_found), "no file matches"));
  }
}

TEST_CASE("resume: a rejected state leaves the pipeline as declared", "[pipeline]") {
  saved_pipeline s;
  const std::string changed = temp_dir::read(s.dir / "b");
  // The file that is read last has changed, so the restore fails when it fills the buffer, with all
  // other files open.
  auto p = declared(s.dir);
  const auto read = [&]() -> task<texts> {
    s.dir.write("b", "11\n12\n13\n1\n");
    CHECK(co_await throws<leat::failure>(p.restore(s.states[3])));
    s.dir.write("b", changed);
    co_return co_await read_all(p);
  };
  CHECK(leat::block_on(read()) == s.all);
}

TEST_CASE("resume: rejects bytes that are not a state, or corrupt", "[pipeline]") {
  saved_pipeline s;
  const std::string& state = s.states[2];
  CHECK(contains(
      s.refused_state(declared(s.dir), "", errc::invalid_argument),
      "pipeline 'train': state cannot be restored: its bytes are not the state of a pipeline"));
  CHECK(contains(s.refused_state(declared(s.dir), "not a state at all", errc::invalid_argument),
                 "its bytes are not the state of a pipeline"));
  for (std::size_t i = 0; i < state.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = state;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      auto p = declared(s.dir);
      CHECK_THROWS_AS(leat::block_on(p.restore(damaged)), leat::failure);
    }
    auto p = declared(s.dir);
    CHECK_THROWS_AS(leat::block_on(p.restore(state.substr(0, i))), leat::failure);
  }
}

TEST_CASE("resume: saving reports why a pipeline cannot be saved", "[pipeline]") {
  const temp_dir dir;
  dir.write("a", "1\n2\n3\n");
  const auto why = [](const auto& p) {
    return refusal([&] { return p.save(); }, errc::failed_precondition);
  };
  leat::fifo_queue<int> queue(3, "numbers");
  CHECK(contains(why(leat::read_queue(queue, {.name = "serve"})),
                 "pipeline 'serve' cannot be saved or restored: stage 'numbers' reads a queue, "
                 "whose items cannot be read again"));
  CHECK(contains(
      why(lines_of({.files = {dir / "*"}}).batch({.batch_size = 2}).shuffle({.capacity = 3})),
      "stage 'shuffle' buffers elements of several records; call shuffle() before batch()"));
  CHECK(contains(why(lines_of({.files = {dir / "*"}}, {.order = leat::ordering::free})
                         .map("same", [](std::string t) { return t; }, {.workers = 2})),
                 "stage 'same' does not keep the order of the input; set ordering::deterministic"));
  CHECK(contains(
      why(lines_of({.files = {dir / "*", leat::descriptor_path(0)}}).shuffle({.capacity = 9})),
      "stage 'files' reads '/dev/fd/0', whose data cannot be read again: read it from a "
      "file"));
  auto ended = lines_of({.files = {dir / "*"}}).batch({.batch_size = 1}).shuffle({.capacity = 3});
  leat::block_on(ended.stop());
  CHECK(contains(why(ended), "call shuffle() before batch()"));
}

TEST_CASE("resume: rejects a restore of a running pipeline", "[pipeline]") {
  saved_pipeline s;
  auto p = declared(s.dir);
  std::string why;
  const auto run = [&]() -> task<> {
    static_cast<void>(co_await p.next());
    why = co_await message_of(p.restore(s.states[2]), errc::failed_precondition);
    co_await p.stop();
  };
  leat::block_on(run());
  CHECK(contains(why, "restore it before the first next()"));
}

TEST_CASE("resume: the state after the end of a pipeline", "[pipeline]") {
  saved_pipeline s;
  SECTION("no elements after the end, except with another epoch") {
    CHECK(elements_after(declared(s.dir), s.states.back()).empty());
    const auto [all, states] = run_and_save(declared(s.dir, {.num_epochs = 2}));
    CHECK(elements_after(declared(s.dir, {.num_epochs = 3}), states.back()).size() > 0);
    CHECK(contains(restore_error(declared(s.dir), states.back()),
                   "it is in epoch 2, but num_epochs is 1"));
  }
  SECTION("after stop() or an exception of the body, the next element") {
    auto p = declared(s.dir);
    const auto run = [&]() -> task<> {
      int seen = 0;
      co_await p.for_each([&](const std::string&) {
        if (++seen == 4) throw std::runtime_error("four");
      });
    };
    CHECK_THROWS_AS(leat::block_on(run()), std::runtime_error);
    CHECK(p.save() == s.states[4]);
    CHECK(elements_after(declared(s.dir), p.save()) == elements_from(s.all, 4));
  }
  SECTION("after an error of a stage, the next element") {
    const auto failing = [&](bool fails) {
      return lines_of({.files = {s.dir / "*"}})
          .shuffle({.capacity = 3, .seed = 1})
          .map("fail", [fails](std::string text) {
            if (fails && text == "23") throw std::runtime_error("23");
            return text;
          });
    };
    auto [seen, state] = read_to_error(failing(true));
    const texts others = elements_after(failing(false), state);
    seen.insert(seen.end(), others.begin(), others.end());
    CHECK(seen == elements_of(failing(false)));
  }
}

TEST_CASE("resume: without a seed, uses the seed of the state", "[pipeline]") {
  saved_pipeline s;
  const auto [all, states] = run_and_save(declared(s.dir, {.seed = std::nullopt}));
  for (std::size_t k = 0; k < states.size(); ++k) {
    CHECK(elements_after(declared(s.dir, {.seed = std::nullopt}), states[k]) ==
          elements_from(all, k));
  }
}

TEST_CASE("resume: a global shuffle without a given seed", "[pipeline]") {
  const temp_dir dir;
  leat::block_on(write_record_files(dir, 60));
  const auto declare = [&](std::optional<std::uint64_t> seed) {
    return leat::read_indexed({dir / "records???"},
                              {.num_epochs = 2, .seed = seed, .batch_size = 7})
        .map("text", text_of_record);
  };
  const auto [all, states] = run_and_save(declare(std::nullopt));
  REQUIRE(all.size() == 120);
  for (const std::size_t k : {0U, 1U, 50U, 60U, 119U, 120U}) {  // 0: before the start
    INFO(k);
    CHECK(elements_after(declare(std::nullopt), states[k]) == elements_from(all, k));
  }
  auto given = declare(1);
  const std::string of_given = given.save();
  for (const std::string& state : {of_given, leat::block_on(read_and_save(given)).second[9]}) {
    CHECK(contains(restore_error(declare(2), state),
                   "stage 'indexed_reader': state cannot be restored: seed is 2, but was 1"));
  }
}

// Any content with a valid checksum is rejected, or read to the end.
TEST_CASE("resume: rejects states that no pipeline saved", "[pipeline]") {
  using stages = saved_stages;
  saved_pipeline s;
  for (const char* name : {"a", "b", "c"}) {
    std::string text;
    for (int i = 0; i < 100; ++i) text += name + std::to_string(i) + '\n';
    s.dir.write(name, text);
  }
  const auto [elements, states] = run_and_save(declared(s.dir));
  const stages good = stages_of(states[45]);
  REQUIRE(good.size() == 5);
  REQUIRE(state_in<leat::detail::shuffle_state>(good[2]).held.size() == 5);
  constexpr std::uint64_t huge = std::uint64_t{1} << 60;
  const auto all_positions = [](leat::detail::file_position changed) {
    return change_files([changed](auto& f) {
      for (auto& position : f.positions) position = changed;
    });
  };
  const std::vector<stages_change> changes{
      [](stages& all) { all.clear(); },
      [](stages& all) { all.pop_back(); },
      [](stages& all) { all.push_back(all.back()); },
      [](stages& all) {  // with a list that reads like the list of all five
        all[0].name = "files', map 'text', shuffle 'shuffle', batch 'batch', map 'join";
        all.resize(1);
      },
      [](stages& all) { all[2].settings.clear(); },
      [](stages& all) { all[2].settings.push_back({"twice", 1}); },
      [](stages& all) { all[2].version = 2; },
      [](stages& all) { all[0].own.clear(); },
      [](stages& all) { all[2].own.clear(); },
      change_files([](auto& f) { f.positions.clear(); }),
      change_files([](auto& f) { f.positions.emplace_back(); }),
      change_files([](auto& f) { f.next_file = huge; }),
      change_files([](auto& f) { f.closed = 1; }),
      change_files([](auto& f) { f.files.pop_back(); }),
      all_positions({.open = true, .ended = true}),
      all_positions({.open = true, .file = huge}),
      [](stages& all) { all[1].own = all[2].own; },
      [](stages& all) { all[2].own += all[0].own; },
      change_buffer(2, [](auto& b) { b.held[1].file = 99; }),
      change_buffer(2, [](auto& b) { b.held[1].offset = huge; }),
      change_files([](auto& f) { f.records = huge; }),
      change_buffer(2, [](auto& b) { b.held[1].branch = 7; }),
      // The following ones may be accepted.
      change_files([](auto& f) { f.epoch = huge; }),
      change_files([](auto& f) { f.epoch = 0; }),
      all_positions({.ended = true}),
      all_positions({.open = true, .offset = huge}),
      change_buffer(2, [](auto& b) { b.draws = huge; }),
      change_buffer(2, [](auto& b) { b.held.emplace_back(); }),
      change_buffer(2, [](auto& b) { b.held[1].index = huge; }),
      change_buffer(2,
                    [](auto& b) {
                      for (auto& each : b.held) each = {};
                    }),
  };
  const auto read = [&](std::size_t change) {
    stages changed = good;
    changes[change](changed);
    auto p = declared(s.dir);
    leat::block_on([](auto& restored, std::string state) -> task<> {
      co_await restored.restore(std::move(state));
      co_await restored.for_each([](const std::string&) {});
    }(p, leat::detail::stages_to_bytes(changed)));
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    INFO("change " << i);
    try {
      read(i);
    } catch (const leat::failure& e) {
      CHECK(e.code() != errc::out_of_range);
    }
  }
  for (std::size_t i = 0; i < 22; ++i) {
    INFO("change " << i);
    CHECK_THROWS_AS(read(i), leat::failure);
  }
}

}  // namespace resume_refusals_test
