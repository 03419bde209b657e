// Like reader_damage_test, but with files of 64 KiB. `./dev campaign damage` sets
// LEAT_DAMAGE_SIZE=1048576 and prints the number of tested places.
//
// The test rereads a plain file only around the damage: a reader that starts some records before it
// returns the records that the definition finds there. Compressed files and files of one record are
// readable only from their beginning, so each place costs a pass over the file. The test takes
// every n-th place of them and flips different bits of consecutive bytes.

#include <algorithm>
#include <type_traits>

#include "faults/damage_effort.hpp"
#include "faults/damaged_files.hpp"
#include "support/leat_test.hpp"
#include "support/temp_dir.hpp"

namespace large_damage_test {

using leat::compression;
using namespace leat_test::damaged;
using outcome = leat_test::read_outcome;

template <class Format>
std::string what_is_read(compression format) {
  return std::string(Format::reader::name) + ", " + std::string(leat::to_string(format));
}

// ------------------------------------------------------------------------------ around the damage

constexpr std::size_t chunk_size = 4096;

// A part of a file that starts at a record and ends after one.
struct part {
  std::size_t from = 0;
  std::uint64_t index = 0;  // of the first record
  std::size_t end = 0;
};

// Returns the part with at least three records before and after the byte `at`. The file now has
// `size` bytes.
part around(const outcome& whole, std::size_t at, std::size_t size) {
  const auto& offsets = whole.offsets;
  const auto behind = std::upper_bound(offsets.begin(), offsets.end(), at) - offsets.begin();
  part p;
  p.end = size;
  if (const auto last = static_cast<std::size_t>(behind) + 3; last < offsets.size()) {
    p.end = std::min(size, static_cast<std::size_t>(offsets[last]));
  }
  if (behind < 4) return p;
  p.from = static_cast<std::size_t>(offsets[static_cast<std::size_t>(behind) - 4]);
  p.index = whole.indices[static_cast<std::size_t>(behind) - 4];
  return p;
}

template <class Format>
outcome read_by_definition(std::string_view bytes, const part& p) {
  const std::string_view window = bytes.substr(p.from, p.end - p.from);
  if (p.from == 0) return Format::read(window, true);
  outcome o = Format::read_on(window);
  for (std::uint64_t& offset : o.offsets) offset += p.from;
  for (std::uint64_t& index : o.indices) index += p.index;
  if (!o.error.empty()) {  // possible only with checksums
    const std::uint64_t at =
        o.records.empty() ? p.from
                          : o.offsets.back() + o.records.back().size() + leat::tfrecord_overhead;
    o.error = leat_test::error_at("record " + std::to_string(p.index + o.records.size()), at);
  }
  return o;
}

// Reads `count` records, or if `all`, until the end or an error.
template <class Format>
task<outcome> read_with_reader(std::string path, part p, std::size_t count, bool all) {
  auto options = Format::options();
  options.read.chunk_size = chunk_size;
  outcome o;
  try {
    auto reader = co_await Format::reader::open(std::move(path), options);
    if (p.from > 0) reader->seek(p.from, p.index);
    typename Format::reader::batch_type batch;
    for (bool more = true; more && (all || o.records.size() < count);) {
      more = co_await reader->read_batch(batch);
      for (std::size_t i = 0; i < batch.size() && (all || o.records.size() < count); ++i) {
        const leat::record_position at = batch.position(i);
        o.add({reinterpret_cast<const char*>(batch[i].data()), batch[i].size()}, at.offset,
              at.index);
      }
    }
  } catch (const leat::failure& e) {
    o.error = e.what();
  }
  co_return o;
}

template <class Format>
task<std::string> problem_at(std::string path, const std::string& content, const outcome& whole,
                             std::size_t at, std::size_t& errors) {
  const part p = around(whole, at, content.size());
  const outcome expected = read_by_definition<Format>(content, p);
  const bool all = p.end == content.size() || !expected.error.empty();
  const outcome found =
      co_await read_with_reader<Format>(std::move(path), p, expected.records.size(), all);
  if (!found.error.empty()) ++errors;
  co_return leat_test::difference(found, expected);
}

template <class Format>
task<> try_plain(std::string path) {
  const std::string plain = Format::sample(sample_size());
  const outcome whole = Format::read(plain, true);
  const std::size_t stride = stride_for(plain.size() * 9, chunk_size);
  tell(what_is_read<Format>(compression::none), plain.size(), stride, stride);
  sample_file f(path, plain);
  std::size_t errors = 0;
  std::size_t tried = 0;
  const auto problem = [&](std::size_t at) {
    ++tried;
    return problem_at<Format>(path, f.content(), whole, at, errors);
  };
  co_await flip_bits(f, stride, problem);
  CHECK(errors == (std::is_same_v<Format, tfrecords> ? tried : 0));
  co_await cut_shorter(f, stride, problem);
}

// ----------------------------------------------------------------------------- from the beginning

template <class Format>
task<> try_from_beginning(std::string path, compression format) {
  const std::string plain = Format::sample(sample_size());
  const outcome whole = Format::read(plain, true);
  sample_file f(path, compressed(plain, format));
  const std::size_t size = f.content().size();
  const std::size_t bits = stride_for(size * 8, plain.size());
  const std::size_t cuts = stride_for(size, plain.size());
  tell(what_is_read<Format>(format), size, bits, cuts);
  const auto problem = [&](std::size_t) -> task<std::string> {
    const outcome found = co_await leat_test::damaged::read_with_reader<Format>(path, format);
    const std::size_t left = f.content().size();
    if (format != compression::none && left > 0 && left < size)
      REQUIRE((!found.error.empty() || found.same_records(whole)));
    co_return leat_test::difference(
        found, leat_test::damaged::read_by_definition<Format>(format, f.content(), plain));
  };
  co_await flip_bits(f, bits, problem);
  co_await cut_shorter(f, cuts, problem);
}

template <class Format>
void check_plain() {
  const temp_dir dir;
  leat::block_on(try_plain<Format>(dir / "f"));
}
template <class Format>
void check_compressed() {
  const temp_dir dir;
  for (const auto format : {compression::gzip, compression::zlib}) {
    INFO(leat::to_string(format));
    leat::block_on(try_from_beginning<Format>(dir / "f", format));
  }
}

TEST_CASE("damage: bits and cuts around each position of large TFRecord files", "[faults]") {
  check_plain<tfrecords>();
}
TEST_CASE("damage: bits and cuts around each position of large text files", "[faults]") {
  check_plain<lines>();
}
TEST_CASE("damage: bits and cuts around each position of large fixed-length files", "[faults]") {
  check_plain<fixed_lengths>();
}
TEST_CASE("damage: bits and cuts of large files read as a whole", "[faults]") {
  const temp_dir dir;
  leat::block_on(try_from_beginning<whole_files>(dir / "f", compression::none));
  check_compressed<whole_files>();
}
TEST_CASE("damage: bits and cuts of large compressed TFRecord files", "[faults]") {
  check_compressed<tfrecords>();
}
TEST_CASE("damage: bits and cuts of large compressed text files", "[faults]") {
  check_compressed<lines>();
}
TEST_CASE("damage: bits and cuts of large compressed fixed-length files", "[faults]") {
  check_compressed<fixed_lengths>();
}

}  // namespace large_damage_test
