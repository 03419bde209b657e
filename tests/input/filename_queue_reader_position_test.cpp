// The record positions that a reader with a queue of file names reports.

#include "input/filename_queue_reader_support.hpp"
#include "leat/io/reader/fixed_length_reader.hpp"
#include "support/leat_test.hpp"
#include "support/records/zlib_oracle.hpp"

using namespace filename_queue_reader_test;

namespace filename_queue_reader_position_test {

std::string text_of(std::string_view key, leat::record_position at) {
  return std::string(key) + " " + std::string(at.path) + " " + std::to_string(at.offset) + " " +
         std::to_string(at.index);
}

// Returns the positions that the batches of the underlying reader report.
template <class Reader>
task<names> read_batches(std::string path, typename Reader::options_type options) {
  auto reader = co_await Reader::open(path, options);
  typename Reader::batch_type batch;
  names all;
  for (bool more = true; more;) {
    more = co_await reader->read_batch(batch);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      all.push_back(text_of(Reader::key(batch.position(i)), batch.position(i)));
    }
  }
  co_return all;
}

template <class Reader>
task<names> read_one_by_one(std::string path, typename Reader::options_type options) {
  names_queue q(1);
  co_await fill(q, path);
  leat::filename_queue_reader<Reader> reader(q, options);
  names all;
  while (auto r = co_await reader.read()) {
    const keyed_record moved = std::move(*r);  // the path moves too
    all.push_back(text_of(moved.key, moved.position()));
  }
  co_return all;
}

template <class Reader>
task<names> read_some(std::string path, typename Reader::options_type options) {
  names_queue q(1);
  co_await fill(q, path);
  leat::filename_queue_reader<Reader> reader(q, options);
  names all;
  while (auto some = co_await reader.read_up_to(4)) {
    for (const keyed_record& r : *some) all.push_back(text_of(r.key, r.position()));
  }
  co_return all;
}

template <class Reader>
void check_places(const std::string& content, typename Reader::options_type options,
                  const std::string& last) {
  in_world([&](world& w) -> task<> {
    w.files().write_file("/a", content);
    const names expected = co_await read_batches<Reader>("/a", options);
    REQUIRE_FALSE(expected.empty());
    CHECK(expected.back() == last);
    const names single = co_await read_one_by_one<Reader>("/a", options);
    CHECK(single == expected);
    const names several = co_await read_some<Reader>("/a", options);
    CHECK(several == expected);
  });
}

TEST_CASE("filename_queue_reader: every record has a path, an offset and an index") {
  const std::string records = tfrecord_file(6);
  check_places<leat::tfrecord_reader>(records, {}, "/a:120 /a 120 5");
  leat::tfrecord_reader_options zlib;
  zlib.compression = leat::compression::zlib;
  check_places<leat::tfrecord_reader>(
      leat_test::zlib_deflated(records, {.window_bits = leat_test::zlib_window}), zlib,
      "/a:120 /a 120 5");
  check_places<leat::line_reader>("head\none\ntwo\r\nthree", {.skip_header_lines = 1},
                                  "/a:4 /a 14 3");
  check_places<leat::fixed_length_reader>(
      "HHabc.def.ghi.", {.record_size = 3, .header_size = 2, .hop_size = 4}, "/a:2 /a 10 2");
  check_places<leat::whole_file_reader>("all of it", {}, "/a /a 0 0");
  check_places<leat::identity_reader>("", {}, "/a /a 0 0");
}

}  // namespace filename_queue_reader_position_test
