// Cuts a file at every byte and flips every bit, in each format, plain and compressed. A reader
// returns the records that a slow reader by the definition finds, at the same offsets, and reports
// the end. A format with checksums never returns a wrong record.

#include <algorithm>
#include <type_traits>

#include "faults/damaged_files.hpp"
#include "support/effort.hpp"
#include "support/leat_test.hpp"
#include "support/temp_dir.hpp"

namespace reader_damage_test {

using leat::compression;
using namespace leat_test::damaged;
using outcome = leat_test::read_outcome;

// Flips a part of the bits if each takes long, and different bits of consecutive bytes.
constexpr std::size_t stride = leat_test::slow_build ? 23 : 1;

template <class Format>
task<> try_each_damage(std::string path, compression format) {
  const std::string plain = Format::sample();
  const outcome whole = Format::read(plain, true);
  sample_file f(path, compressed(plain, format));
  const auto problem_now = [&](const outcome& found) {
    return leat_test::difference(found, read_by_definition<Format>(format, f.content(), plain));
  };
  std::size_t errors = 0;
  for (std::size_t bit = 0; bit < f.content().size() * 8; bit += stride) {
    f.flip(bit);
    const outcome found = co_await read_with_reader<Format>(path, format);
    INFO("bit " << bit);
    REQUIRE(problem_now(found) == "");
    if constexpr (std::is_same_v<Format, tfrecords>) {
      REQUIRE(found.records.size() <= whole.records.size());
      REQUIRE(std::equal(found.records.begin(), found.records.end(), whole.records.begin()));
    }
    if (!found.error.empty()) ++errors;
    f.flip(bit);
  }
  const bool checked = format != compression::none || std::is_same_v<Format, tfrecords> ||
                       std::is_same_v<Format, csv>;  // whose quotes are checked
  CHECK((errors > 0) == checked);
  for (std::size_t size = f.content().size() + 1; size-- > 0;) {
    f.cut(size);
    const outcome found = co_await read_with_reader<Format>(path, format);
    INFO("cut at " << size);
    REQUIRE(problem_now(found) == "");
    const bool may_end_well = format == compression::none || size == 0;
    REQUIRE((!found.error.empty() || may_end_well || found.same_records(whole)));
  }
}

template <class Format>
void check() {
  const temp_dir dir;
  for (const auto format : {compression::none, compression::gzip, compression::zlib}) {
    INFO(leat::to_string(format));
    leat::block_on(try_each_damage<Format>(dir / "f", format));
  }
}

TEST_CASE("damage: every bit and every cut of TFRecord files, with their places", "[faults]") {
  check<tfrecords>();
}

TEST_CASE("damage: every bit and every cut of text files, with their places", "[faults]") {
  check<lines>();
}

TEST_CASE("damage: every bit and every cut of CSV files, with their places", "[faults]") {
  check<csv>();
}

TEST_CASE("damage: every bit and every cut of fixed-length files, with their places", "[faults]") {
  check<fixed_lengths>();
}

TEST_CASE("damage: every bit and every cut of files read as a whole", "[faults]") {
  check<whole_files>();
}

}  // namespace reader_damage_test
