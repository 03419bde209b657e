// Saved and restored pipelines: from every element on, the stream continues without a difference.

#include <algorithm>

#include "input/few_files.hpp"
#include "leat/io/reader/csv_reader.hpp"
#include "leat/io/reader/fixed_length_reader.hpp"
#include "leat/io/reader/tfrecord_reader.hpp"
#include "leat/io/reader/whole_file_reader.hpp"
#include "leat/pipeline/read_indexed.hpp"
#include "pipeline/saved_stages.hpp"
#include "pipeline/source/dealing.hpp"

namespace resume_test {

using leat::fixed_length_reader;
using leat::tfrecord_reader;
using namespace leat_test;

constexpr int records = 1000;

TEST_CASE("resume: files, shuffled and interleaved, several epochs", "[pipeline]") {
  const temp_dir dir;
  write_line_files(dir, records);
  check_resuming([&] {
    return lines_of({.files = {dir / "lines*"},
                     .num_epochs = 2,
                     .shuffle = true,
                     .seed = 3,
                     .interleave = 4,
                     .block_length = 3,
                     .reader = {.read = {.chunk_size = 100}}});
  });
  check_resuming([&] { return lines_of({.files = {dir / "lines*"}}); });
  check_resuming([&] {
    return lines_of(
        {.files = {dir / "lines*"}, .num_epochs = 2, .interleave = 30, .block_length = 1});
  });
}

TEST_CASE("resume: a shuffle buffer, batches and a prefetch", "[pipeline]") {
  const temp_dir dir;
  write_line_files(dir, records);
  check_resuming([&] {
    return lines_of({.files = {dir / "lines*"},
                     .num_epochs = 2,
                     .shuffle = true,
                     .seed = 1,
                     .interleave = 3,
                     .block_length = 5,
                     .reader = {.read = {.chunk_size = 64}}})
        .prefetch(1, "read ahead")
        .shuffle({.capacity = 100, .seed = 2})
        .batch({.batch_size = 8})
        .map("join", join_batch, {.workers = 2})
        .prefetch(3);
  });
}

TEST_CASE("resume: rows of compressed records, from every element to the end", "[pipeline]") {
  for (const auto compression : {leat::compression::none, leat::compression::gzip}) {
    const temp_dir dir;
    leat::block_on(write_record_files(dir, records, compression));
    const auto all_of_it = [&] {
      return leat::read_files<tfrecord_reader>({.files = {dir / "records???"},
                                                .num_epochs = 3,
                                                .shuffle = true,
                                                .seed = 8,
                                                .interleave = 2,
                                                .block_length = 7,
                                                .reader = {.compression = compression}})
          .shuffle({.capacity = 50, .seed = 9})
          .batch({.batch_size = 7, .remainder = leat::batch_remainder::drop})
          .map("join", join_rows, {.workers = 2})
          .prefetch(2);
    };
    check_resuming(all_of_it, SIZE_MAX);
  }
}

TEST_CASE("resume: a flat_map with no or many elements", "[pipeline]") {
  const temp_dir dir;
  write_line_files(dir, 250);
  for (const std::size_t workers : {std::size_t{0}, std::size_t{3}}) {
    check_resuming([&] {
      return lines_of({.files = {dir / "lines*"}, .num_epochs = 2, .interleave = 2})
          .map("odd", odd, {.workers = workers})
          .flat_map("parts", parts, {.workers = workers})
          .shuffle({.capacity = 40, .seed = 4})
          .flat_map("parts of parts", parts)
          .prefetch(1)
          .map("odd ones", odd)
          .shuffle({.capacity = 30, .seed = 5, .name = "again"});
    });
    check_resuming([&] {
      return lines_of({.files = {dir / "lines*"}}).flat_map("parts", parts, {.workers = workers});
    });
  }
}

TEST_CASE("resume: a buffer that is never full", "[pipeline]") {
  const temp_dir dir;
  write_line_files(dir, 100);
  check_resuming([&] {
    return lines_of({.files = {dir / "lines*"}, .num_epochs = 2})
        .shuffle({.capacity = 5000, .seed = 4});
  });
}

TEST_CASE("resume: records other than lines", "[pipeline]") {
  const temp_dir dir;
  std::string bytes;
  for (int i = 0; i < 200; ++i) bytes += std::to_string(1000 + i);
  dir.write("fixed", bytes);
  check_resuming([&] {
    return leat::read_files<fixed_length_reader>(
               {.files = {dir / "fixed"}, .num_epochs = 2, .reader = {.record_size = 4}})
        .shuffle({.capacity = 30, .seed = 4})
        .map("text", text_of_record);
  });
  for (int i = 0; i < 60; ++i) dir.write("whole" + std::to_string(100 + i), std::to_string(i));
  check_resuming([&] {
    return leat::read_files<leat::whole_file_reader>(
               {.files = {dir / "whole*"}, .num_epochs = 2, .interleave = 3})
        .shuffle({.capacity = 20, .seed = 4})
        .map("text", text_of_record);
  });
}

TEST_CASE("resume: records of CSV, after corrupt and blank lines too", "[pipeline]") {
  const temp_dir dir;
  for (int file = 0; file < 3; ++file) {
    std::string text = "\xEF\xBB\xBF\"a\nheader\",b\r\n";
    for (int i = 0; i < 60; ++i) {
      text += std::to_string(i) + ",\"two\r\nlines\"" + (i % 4 == 0 ? "\r" : "\r\n\n");
      if (i % 7 == 0) text += "wrong \"quotes\",x\n";
    }
    dir.write("csv" + std::to_string(file), text);
  }
  leat::csv_reader_options reader{.skip_header_records = 1, .read = {.chunk_size = 100}};
  reader.corruption.policy = leat::corruption_policy::skip_record;
  check_resuming([&] {
    return leat::read_files<leat::csv_reader>(
               {.files = {dir / "csv?"}, .interleave = 2, .block_length = 5, .reader = reader})
        .map("text", text_of_record);
  });
}

TEST_CASE("resume: a global shuffle", "[pipeline]") {
  const temp_dir dir;
  leat::block_on(write_record_files(dir, records));
  const auto read = [&] {
    return leat::read_indexed({dir / "records???"}, {.num_epochs = 2, .seed = 5, .batch_size = 16});
  };
  check_resuming([&] { return read().map("text", text_of_record).prefetch(2); });
  check_resuming([&] {
    return read().batch({.batch_size = 10}).map("join", join_rows, {.workers = 2}).prefetch(1);
  });
  check_resuming(
      [&] { return read().shuffle({.capacity = 25, .seed = 6}).map("text", text_of_record); });
  check_resuming([&] {  // the elements of the buffer are read again a few bytes at a time
    leat::indexed_reader_options few{.num_epochs = 2, .seed = 5, .batch_size = 16};
    few.file.max_selection_size = 50;
    return leat::read_indexed({dir / "records???"}, few)
        .shuffle({.capacity = 25, .seed = 6})
        .map("text", text_of_record);
  });
}

// The elements before the end or an error, the states, and the message of the error.
struct damaged_stream {
  texts all;
  texts states;
  std::string error;
};

template <class Pipeline>
leat::task<damaged_stream> read_damaged(Pipeline& p, std::string state) {
  damaged_stream r;
  if (!state.empty()) co_await p.restore(std::move(state));
  r.states.push_back(p.save());
  try {
    while (auto element = co_await p.next()) {
      r.all.push_back(std::move(*element));
      r.states.push_back(p.save());
    }
  } catch (const leat::failure& e) {
    r.error = e.what();
  }
  co_return r;
}

// A file in which every third line up to `last` is too long.
std::string damaged_lines(int lines, int last) {
  std::string text;
  for (int i = 0; i < lines; ++i) {
    text += std::to_string(i) + (i % 3 == 1 && i <= last ? " is too long" : "") + '\n';
  }
  return text;
}

TEST_CASE("resume: limits of corruption count earlier skipped records", "[pipeline]") {
  const temp_dir dir;
  dir.write("a", damaged_lines(200, 200));
  dir.write("b", damaged_lines(90, 30));  // less than the limit
  leat::line_reader_options reader{.max_line_size = 8, .read = {.chunk_size = 100}};
  reader.corruption = {.policy = leat::corruption_policy::skip_record, .max_reports = 20};
  // The size of the part of the line in memory depends on the position where the reader began.
  const auto said = [](std::string error) {
    const std::size_t at = error.find(" bytes or more");
    if (at == std::string::npos) return error;
    const std::size_t from = error.rfind(' ', at - 1);
    return error.erase(from, at - from);
  };
  const auto check = [&](auto make) {
    auto whole = make();
    const damaged_stream r = leat::block_on(read_damaged(whole, ""));
    REQUIRE(r.all.size() > 30);
    REQUIRE(contains(r.error, "20 earlier reports reach the limit"));
    for (std::size_t k = 0; k < r.states.size(); ++k) {
      INFO("restored behind " << k);
      auto p = make();
      const damaged_stream rest = leat::block_on(read_damaged(p, r.states[k]));
      CHECK(rest.all == elements_from(r.all, k));
      CHECK(said(rest.error) == said(r.error));
    }
  };
  check([&] {
    return lines_of({.files = {dir / "*"}, .interleave = 2, .block_length = 3, .reader = reader});
  });
  check([&] {
    return lines_of({.files = {dir / "a"}, .reader = reader}).shuffle({.capacity = 9, .seed = 1});
  });
}

TEST_CASE("resume: refilling a buffer does not report corruption again", "[pipeline]") {
  const temp_dir dir;
  dir.write("a", damaged_lines(300, 12));
  std::size_t told = 0;
  leat::line_reader_options reader{.max_line_size = 8, .read = {.chunk_size = 100}};
  reader.corruption = {.policy = leat::corruption_policy::skip_record,
                       .max_reports = 4,
                       .on_report = [&](const leat::corruption_report&) { ++told; }};
  const auto make = [&] {
    return lines_of({.files = {dir / "a"}, .reader = reader})
        .shuffle({.capacity = 1000, .seed = 1});
  };
  const auto [all, states] = run_and_save(make());
  REQUIRE(all.size() == 296);
  REQUIRE(std::exchange(told, 0) == 4);
  for (const std::size_t k : {70U, 250U}) {  // the first block of 64 begins before the files
    CHECK(elements_after(make(), states[k]) == elements_from(all, k));
    CHECK(told == 0);
  }
}

TEST_CASE("resume: the order does not depend on the number of workers", "[pipeline]") {
  const temp_dir dir;
  write_line_files(dir, records);
  std::size_t next = 0;
  check_resuming([&] {
    const std::vector<std::size_t> workers = {1, 2, 8, 0};
    auto p = lines_of({.files = {dir / "lines*"}, .num_epochs = 2, .interleave = 3})
                 .map("again", [](std::string text) { return text; },
                      {.workers = workers[next++ % workers.size()]})
                 .shuffle({.capacity = 40, .seed = 1})
                 .map("mark", [](const std::string& text) { return text + '.'; },
                      {.workers = workers[next % workers.size()]});
    return std::move(p).prefetch(1 + next % 3);
  });
}

TEST_CASE("resume: after an error of a function, continues with the next element", "[pipeline]") {
  const temp_dir dir;
  write_line_files(dir, 100);
  enum class behind { one, maybe, many };
  for (const behind what : {behind::one, behind::maybe, behind::many}) {
    for (const std::size_t workers : {std::size_t{0}, std::size_t{2}}) {
      bool fails = false;
      int taken = 0;
      const auto make = [&] {
        taken = 0;
        auto p = lines_of({.files = {dir / "lines*"}, .num_epochs = 1})
                     .map("fail", [&](std::string text) {
                       if (++taken == 30 && fails) throw std::runtime_error("a transient lookup");
                       return text;
                     });
        const leat::map_stage_options options{.workers = workers};
        if (what == behind::one) {
          return std::move(p).map("mark", [](std::string text) { return text + '.'; }, options);
        }
        if (what == behind::maybe) {
          return std::move(p).map(
              "mark", [](std::string text) { return std::optional(text + '.'); }, options);
        }
        return std::move(p).flat_map(
            "mark", [](const std::string& text) { return texts(3, text + '.'); }, options);
      };
      const texts all = elements_of(make());
      fails = true;
      auto [seen, state] = read_to_error(make());
      CHECK(seen.size() == (what == behind::many ? 87 : 29));
      fails = false;
      const texts rest = elements_after(make(), state);
      seen.insert(seen.end(), rest.begin(), rest.end());
      CHECK(seen == all);
    }
  }
}

TEST_CASE("resume: a buffer that holds each record a thousand times", "[pipeline]") {
  const temp_dir dir;
  dir.write("lines", "1\n2\n3\n");
  const auto make = [&] {
    return lines_of({.files = {dir / "lines"}, .num_epochs = 1500})
        .shuffle({.capacity = 4000, .seed = 3});
  };
  const texts all = elements_of(make());
  const auto [seen, states] = run_and_save(make(), 70);
  const texts rest = elements_after(make(), states.back());
  REQUIRE(seen.size() == 70);
  CHECK(rest == elements_from(all, 70));
}

TEST_CASE("resume: a restored state is saved as the same bytes", "[pipeline]") {
  const temp_dir dir;
  write_line_files(dir, 60);
  const auto make = [&] {
    return lines_of(
               {.files = {dir / "lines*"}, .num_epochs = 2, .interleave = 3, .block_length = 1})
        .batch({.batch_size = 3})
        .map("join", join_batch);
  };
  for (const std::string& state : run_and_save(make()).second) {
    CHECK((restore_and_save(make(), state, 0).second.front() == state));
  }
}

// The turns of an interleave slot without a file are not part of a round that began long ago.
TEST_CASE("resume: with fewer files than interleave slots at most two rounds are read again",
          "[pipeline]") {
  const temp_dir dir;
  dir.write("lines", "1\n2\n3\n4\n5\n6\n7\n");
  for (const std::size_t interleave : {2U, 3U, 5U}) {
    auto p = lines_of({.files = {dir / "lines"},
                       .num_epochs = std::nullopt,
                       .interleave = interleave,
                       .block_length = 2});
    const texts states = leat::block_on(read_and_save(p, 300)).second;
    std::uint64_t most = 0;
    for (const std::string& state : states) {
      const auto files = state_in<leat::detail::file_stage_state>(stages_of(state)[0]);
      most = std::max(most, files.at.records);
    }
    CHECK(most <= 4 * interleave);
  }
  check_resuming([&] {
    return lines_of(
        {.files = {dir / "lines"}, .num_epochs = 20, .interleave = 3, .block_length = 2});
  });
}

}  // namespace resume_test
