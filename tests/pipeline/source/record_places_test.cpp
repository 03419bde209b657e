// Positions of records in their files: rows have them, and errors of decoders in pipelines name
// them.

#include <filesystem>
#include <span>

#include "leat/codec/csv/csv_decoder.hpp"
#include "leat/codec/example/decode_json_example.hpp"
#include "leat/codec/example/example_builder.hpp"
#include "leat/codec/example/example_parser.hpp"
#include "leat/io/reader/line_reader.hpp"
#include "leat/io/reader/tfrecord_reader.hpp"
#include "leat/io/writer/tfrecord_writer.hpp"
#include "leat/pipeline/pipeline.hpp"
#include "leat/pipeline/read_indexed.hpp"
#include "support/leat_test.hpp"
#include "support/temp_dir.hpp"

namespace record_places_test {

using leat::csv_column;
using leat::dtype;
using leat::line_reader;
using leat::owned_line_batch;
using leat::owned_record_batch;
using leat::tfrecord_reader;
using texts = std::vector<std::string>;

const leat::csv_decoder& decoder() {
  static const leat::csv_decoder one(
      {csv_column::required(dtype::int64, "x"), csv_column::required(dtype::int64, "y")});
  return one;
}

leat::tensor_tuple columns(const owned_line_batch& rows) { return decoder().decode(rows.views()); }

// Returns the message of the error with which a pipeline ends.
template <class Pipeline>
std::string error_of(Pipeline p, std::string state = {}) {
  const auto read = [&]() -> task<> {
    if (!state.empty()) co_await p.restore(std::move(state));
    for (;;) {
      const auto element = co_await p.next();
      if (!element) break;
    }
  };
  try {
    leat::block_on(read());
  } catch (const leat::decode_error& e) {
    return leat_test::without_code_message(e);
  }
  return {};
}

// Two files of 20 lines. The 13th line of b has a word instead of a number.
texts write_lines(const temp_dir& dir) {
  std::string good;
  std::string bad;
  for (int i = 0; i < 20; ++i) {
    good += "1,2\n";
    bad += i == 12 ? "3,x\n" : "3,4\n";
  }
  return {dir.write("a.csv", good), dir.write("b.csv", bad)};
}

TEST_CASE("pipeline: an error of a CSV record names its file, line and column", "[pipeline]") {
  const temp_dir dir;
  const texts files = write_lines(dir);
  const std::string expected =
      files[1] + ":13 at offset 48, byte 3, field 1 ('y'): 'x' is not a valid int64";
  for (const std::size_t workers : {std::size_t{0}, std::size_t{2}}) {
    for (const std::size_t interleave : {std::size_t{1}, std::size_t{2}}) {
      const auto lines = [&] {
        return leat::read_files<line_reader>(
            {.files = files, .interleave = interleave, .block_length = 3});
      };
      const leat::map_stage_options how = {.workers = workers};
      CHECK(error_of(lines().batch({.batch_size = 7}).map("parse", columns, how)) == expected);
      CHECK(error_of(lines()
                         .shuffle({.capacity = 9, .seed = 1})
                         .batch({.batch_size = 7})
                         .map("parse", columns, how)) == expected);
      CHECK(error_of(lines()
                         .prefetch(2)
                         .shuffle({.capacity = 100, .seed = 1})
                         .shuffle({.capacity = 9, .seed = 1, .name = "again"})
                         .prefetch(2, "more")
                         .batch({.batch_size = 7})
                         .map("parse", columns, how)) == expected);
      // One by one, from a block of the reader, and from a block of the shuffle buffer.
      const auto one = [](std::string_view line) { return decoder().decode_one(line); };
      CHECK(error_of(lines().map("parse", one, how)) == expected);
      CHECK(error_of(lines().shuffle({.capacity = 9, .seed = 1}).map("parse", one, how)) ==
            expected);
    }
  }
}

TEST_CASE("pipeline: a header counts among the lines that errors name", "[pipeline]") {
  const temp_dir dir;
  const std::string path = dir.write("a.csv", "x,y\n1,2\n1,2,3\n");
  leat::file_source<line_reader> source;
  source.files = {path};
  source.reader.skip_header_lines = 1;
  CHECK(error_of(
            leat::read_files(std::move(source)).batch({.batch_size = 2}).map("parse", columns)) ==
        path + ":3 at offset 8, byte 5: number of fields is 3, must be 2");
}

// Writes `count` Examples, the last one without a label.
task<std::string> write_examples(const temp_dir& dir, int count) {
  auto writer = co_await leat::tfrecord_writer::open(dir / "a.tfrecord");
  for (int i = 0; i < count; ++i) {
    leat::example_builder example;
    example.add(i + 1 < count ? "label" : "other", {std::int64_t{1}});
    const std::string record = example.serialize();
    co_await writer.write(leat::as_bytes(record));
  }
  co_await writer.close();
  co_return dir / "a.tfrecord";
}

TEST_CASE("pipeline: an error of an Example names its file, record and offset", "[pipeline]") {
  const temp_dir dir;
  const std::string path = leat::block_on(write_examples(dir, 50));
  const leat::example_parser parser({{"label", leat::fixed_len_feature{.type = dtype::int64}}});
  const auto parse = [&](const owned_record_batch& rows) {
    return parser.parse(rows.views()).take();
  };
  const std::string place = path + ", record 49 at offset 1666, feature 'label'";
  const auto begins = [&](const std::string& error) { return error.substr(0, place.size()); };
  const auto files = [&] { return leat::read_files<tfrecord_reader>({.files = {path}}); };
  CHECK(begins(error_of(files().batch({.batch_size = 8}).map("parse", parse))) == place);
  CHECK(begins(error_of(files()
                            .prefetch({.blocks = 4, .on_worker = true})
                            .shuffle({.capacity = 20, .seed = 1})
                            .batch({.batch_size = 8})
                            .map("parse", parse, {.workers = 2}))) == place);
  CHECK(begins(error_of(leat::read_indexed({path}, {.num_epochs = 1, .seed = 1})
                            .batch({.batch_size = 8})
                            .map("parse", parse))) == place);
  const auto each = [&](leat::byte_view record) {
    return std::vector<leat::tensor_tuple>{parser.parse_one(record).take()};
  };
  CHECK(begins(error_of(files().flat_map("parse", each))) == place);
}

TEST_CASE("pipeline: an error of a JSON Example names its file and line", "[pipeline]") {
  const temp_dir dir;
  const std::string path = dir.write("a.jsonl", "{}\n{]\n");
  const auto parse = [](const owned_line_batch& rows) {
    const auto views = rows.views();
    return leat::decode_json_example(leat::tensor::of({static_cast<std::int64_t>(views.size())},
                                                      std::span<const std::string_view>(views)));
  };
  auto p =
      leat::read_files<line_reader>({.files = {path}}).batch({.batch_size = 2}).map("parse", parse);
  CHECK(error_of(std::move(p)).starts_with(path + ":2 at offset 3"));
}

struct own_error : leat::decode_error {
  using decode_error::decode_error;
};

TEST_CASE("pipeline: an error names a record only if the record is known", "[pipeline]") {
  const temp_dir dir;
  const std::string path = dir.write("a.csv", "1,2\n3,4\n5,6\n7,8\n");
  const auto error = [&](auto parse) {
    auto lines = leat::read_files<line_reader>({.files = {path}}).batch({.batch_size = 4});
    return error_of(std::move(lines).map("parse", parse));
  };
  const std::string second = path + ":2 at offset 4";
  const std::string batch = " in the batch that begins with " + path + ":1 at offset 0";
  // The decoder was called for one line, or for several.
  CHECK(error([](const owned_line_batch& rows) -> int {
          const leat::csv_decoder one({csv_column::required(dtype::int64, "x")});
          return static_cast<int>(one.decode_one(rows[1]).byte_size());
        }).starts_with("record 0" + batch + ", byte "));
  CHECK(error([](const owned_line_batch& rows) -> int {
          const leat::csv_decoder one({csv_column::required(dtype::int64, "x")});
          const std::vector<std::string_view> views = rows.views();
          return static_cast<int>(one.decode(std::span(views).subspan(1)).byte_size());
        }).starts_with("record 0" + batch + ", byte "));
  CHECK(error([](const owned_line_batch&) -> int { throw leat::decode_error(1, ": bad"); }) ==
        "record 1" + batch + ": bad");
  CHECK(error([](const owned_line_batch& rows) -> int {
          throw leat::decode_error(1, ": bad").with_record_count(rows.size());
        }) == second + ": bad");
  // An error that already has a position, or is of another type, is unchanged.
  CHECK(error([](const owned_line_batch& rows) -> int {
          throw leat::decode_error(0, ": bad").at(leat::format_line_position(rows.position(1)));
        }) == second + ": bad");
  CHECK(error([](const owned_line_batch&) -> int { throw own_error(3, ": mine"); }) ==
        "record 3: mine");
}

TEST_CASE("pipeline: errors name the positions of elements of a restored buffer", "[pipeline]") {
  const temp_dir dir;
  const texts files = write_lines(dir);
  const auto declared = [&] {
    return leat::read_files<line_reader>({.files = files, .interleave = 2, .block_length = 1})
        .shuffle({.capacity = 100, .seed = 1})
        .map("parse", [](std::string_view line) { return decoder().decode_one(line); });
  };
  const auto state_behind_one = [&]() -> task<std::string> {
    auto p = declared();
    static_cast<void>(co_await p.next());
    std::string state = p.save();
    co_await p.stop();
    co_return state;
  };
  CHECK(error_of(declared(), leat::block_on(state_behind_one())) ==
        files[1] + ":13 at offset 48, byte 3, field 1 ('y'): 'x' is not a valid int64");
}

TEST_CASE("pipeline: rows keep their positions, also from several files", "[pipeline]") {
  const temp_dir dir;
  const texts files = {dir.write("a", "0\n1\n2\n"), dir.write("b", "10\n11\n12\n")};
  std::vector<owned_line_batch> batches;
  const auto read = [&]() -> task<> {
    auto p = leat::read_files<line_reader>({.files = files, .interleave = 2, .block_length = 1})
                 .shuffle({.capacity = 4, .seed = 3})
                 .batch({.batch_size = 4});
    co_await p.for_each([&](owned_line_batch rows) { batches.push_back(std::move(rows)); });
  };
  leat::block_on(read());  // the rows outlive the pipeline
  std::size_t count = 0;
  for (const owned_line_batch& rows : batches) {
    const owned_line_batch copy = rows;
    for (std::size_t i = 0; i < copy.size(); ++i, ++count) {
      const leat::record_position at = copy.position(i);
      const bool second = copy[i].size() == 2;
      CHECK(at.path == files[second ? 1 : 0]);
      CHECK(std::to_string(at.index + (second ? 10 : 0)) == copy[i]);
      CHECK(at.offset == at.index * (copy[i].size() + 1));
    }
  }
  CHECK(count == 6);
}

TEST_CASE("pipeline: the error of a file that disappears follows the records already read",
          "[pipeline]") {
  const temp_dir dir;
  const texts files = {dir.write("a", "0\n1\n"), dir.write("b", "2\n"), dir.write("c", "3\n")};
  std::size_t got = 0;
  std::string said;
  const auto read = [&]() -> task<> {
    auto p = leat::read_files<line_reader>({.files = files}).map("text", [](std::string_view line) {
      return std::string(line);
    });
    try {
      co_await p.for_each([&](const std::string&) {
        if (++got == 1) std::filesystem::remove(files[2]);
      });
    } catch (const leat::failure& e) {
      CHECK(e.code() == leat::errc::not_found);
      said = e.what();
    }
  };
  leat::block_on(read());
  CHECK(got == 3);
  CHECK(leat_test::contains(said, files[2]));
}

TEST_CASE("rows: without a file they have no path, and errors are unchanged", "[pipeline]") {
  owned_line_batch rows;
  rows.push_back("1,2");
  CHECK(rows.position(0).path.empty());
  CHECK_FALSE(rows.paths());
  const leat::decode_error e(3, ", column 1: it is wrong");
  CHECK(leat_test::without_code_message(e) == "record 3, column 1: it is wrong");
  const leat::decode_error there = e.at("a.csv:7");
  CHECK(leat_test::without_code_message(there) == "a.csv:7, column 1: it is wrong");
  CHECK(there.record() == 3);
  CHECK(there.has_position());
  CHECK_FALSE(e.has_position());
  CHECK(e.records() == 1);
  CHECK(e.with_record_count(7).at("a.csv:7").records() == 7);
  CHECK(e.with_record_count(7).record() == 3);
}

}  // namespace record_places_test
