// A reader with a queue of names resumes from its own state or from the state of another reader.

#include "input/filename_queue_reader_support.hpp"
#include "leat/io/reader/fixed_length_reader.hpp"
#include "support/effort.hpp"
#include "support/leat_test.hpp"
#include "support/records/zlib_oracle.hpp"

using namespace filename_queue_reader_test;

namespace filename_queue_reader_resume_test {

// Reads `skip` records with one reader, and the rest with another one that restores the state.
template <class Reader>
task<names> read_in_two(std::string files, typename Reader::options_type options,
                        std::size_t skip) {
  names_queue q(9);
  co_await fill(q, files);
  names all;
  leat::filename_queue_reader<Reader> first(q, options);
  for (std::size_t i = 0; i < skip; ++i) {
    auto r = co_await first.read();
    if (r) all.push_back(r->key + "=" + r->value);
  }
  leat::filename_queue_reader<Reader> second(q, options);
  second.restore_state(first.serialize_state());
  CHECK(second.serialize_state() == first.serialize_state());
  while (auto r = co_await second.read()) all.push_back(r->key + "=" + r->value);
  CHECK(second.num_records_produced() == all.size());
  CHECK(second.num_work_units_completed() == 3);
  co_return all;
}

// Checks that the files /a, /empty and /b contain `expected` records in total.
template <class Reader>
void check_stored(const std::string& content, const std::string& empty,
                  typename Reader::options_type options, std::size_t expected) {
  in_world([&](world& w) -> task<> {
    for (const char* name : {"/a", "/b"}) w.files().write_file(name, content);
    w.files().write_file("/empty", empty);
    const names whole = co_await read_in_two<Reader>("/a /empty /b", options, 0);
    REQUIRE(whole.size() == expected);
    for (std::size_t k = 1; k <= whole.size() + 1; ++k) {
      const names both = co_await read_in_two<Reader>("/a /empty /b", options, k);
      REQUIRE(both == whole);
    }
  });
}

// Checks plain and compressed files, with a given and a detected compression.
template <class Reader>
void check_resume(const std::string& content, const std::string& empty,
                  typename Reader::options_type options, std::size_t expected) {
  using leat::compression;
  options.read.chunk_size = 50;
  check_stored<Reader>(content, empty, options, expected);
  for (const auto format : {compression::none, compression::zlib, compression::gzip}) {
    const auto stored = [&](const std::string& text) {
      const bool zlib = format == compression::zlib;
      if (format == compression::none) return text;
      return leat_test::zlib_deflated(
          text, {.window_bits = zlib ? leat_test::zlib_window : leat_test::gzip_window});
    };
    options.compression = format;
    check_stored<Reader>(stored(content), stored(empty), options, expected);
    options.compression = std::nullopt;
    check_stored<Reader>(stored(content), stored(empty), options, expected);
  }
}

// Unlike leat, TensorFlow's readers of lines, fixed-length records and TFRecords refuse to restore
// a state.
TEST_CASE("filename_queue_reader: each format resumes after any record, compressed or not") {
  check_resume<leat::tfrecord_reader>(tfrecord_file(10), "", {}, 20);
  std::string text;
  for (int i = 0; i < 12; ++i) text += std::string(static_cast<std::size_t>(3 * i), '.') + "\r\n";
  check_resume<leat::line_reader>(text + "last", "", {.skip_header_lines = 2}, 22);
  check_resume<leat::fixed_length_reader>(
      "HHHHH0123456789012345FF", "HHHHH",
      {.record_size = 3, .header_size = 5, .footer_size = 2, .hop_size = 2}, 14);
  check_resume<leat::whole_file_reader>(text, "", {}, 3);
  check_stored<leat::identity_reader>("", "", {}, 3);
}

// A state may be saved after a name is popped and before its file is open or read.
template <class Reader>
void check_stopped_resume(const std::string& content, typename Reader::options_type options,
                          std::size_t expected) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    in_world(
        [&](world& w) -> task<> {
          names_queue q(9);
          co_await write_and_fill(w, q, "/a /b /c", content);
          names found;
          std::string state;
          for (bool more = true; more;) {
            leat::filename_queue_reader<Reader> reader(q, options);
            if (!state.empty()) reader.restore_state(state);
            task_group group;
            group.spawn(
                [](leat::filename_queue_reader<Reader>& r, names& out, bool& again) -> task<> {
                  while (auto some = co_await r.read_up_to(2)) {
                    for (const keyed_record& record : *some) out.push_back(record.key);
                  }
                  again = false;
                }(reader, found, more));
            co_await leat::sleep_for(std::chrono::microseconds(50 + w.random().uniform_below(900)));
            group.request_stop();
            co_await group.join();
            state = reader.serialize_state();
          }
          REQUIRE(found.size() == expected);
          for (std::size_t i = 1; i < found.size(); ++i) REQUIRE(found[i] != found[i - 1]);
        },
        seed, {.files = {.faults = {.short_transfer = 0.3, .interrupted = 0.1, .again = 0.1}}});
  }
}

TEST_CASE("filename_queue_reader: a state restored in another reader loses and repeats no record") {
  leat::tfrecord_reader_options options;
  options.read.chunk_size = 60;
  check_stopped_resume<leat::tfrecord_reader>(tfrecord_file(6), options, 18);
  options.compression = leat::compression::gzip;
  options.read.chunk_size = 20;
  check_stopped_resume<leat::tfrecord_reader>(leat_test::zlib_deflated(tfrecord_file(6)), options,
                                              18);
  leat::line_reader_options lines_of_10;
  lines_of_10.read.chunk_size = 15;
  check_stopped_resume<leat::line_reader>("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n", lines_of_10, 30);
  leat::fixed_length_reader_options pairs{.record_size = 2, .hop_size = 3};
  pairs.read.chunk_size = 5;
  check_stopped_resume<leat::fixed_length_reader>("ab.cd.ef.gh.ij", pairs, 15);
  leat::whole_file_reader_options whole;
  whole.read.chunk_size = 60;
  check_stopped_resume<leat::whole_file_reader>(tfrecord_file(6), whole, 3);
  check_stopped_resume<leat::identity_reader>("", {}, 3);
}

LEAT_WORLD_TEST("filename_queue_reader: does not resume in a file that has changed") {
  names_queue q(9);
  co_await write_and_fill(w, q, "/a", tfrecord_file(10));
  tfrecords first(q);
  static_cast<void>(co_await first.read());
  tfrecords second(q, {}, "the reader");
  second.restore_state(first.serialize_state());
  w.files().write_file("/a", tfrecord_file(11));
  const std::string said = co_await error_of_read(second, errc::failed_precondition);
  CHECK(contains(said, "the reader: cannot resume in /a: file has changed"));
  CHECK(contains(said, "it had 240 bytes and has 265"));
}

LEAT_WORLD_TEST("filename_queue_reader: does not resume in a stream") {
  w.files().make_pipe("/dev/stdin");
  w.files().write_pipe("/dev/stdin", tfrecord_file(10));
  names_queue q(9);
  co_await fill(q, "/dev/stdin");
  tfrecords first(q);
  static_cast<void>(co_await first.read());
  tfrecords second(q, {}, "the reader");
  second.restore_state(first.serialize_state());
  CHECK(contains(co_await error_of_read(second, errc::failed_precondition),
                 "the reader: cannot resume in /dev/stdin: the data before offset 24 was read "
                 "from a stream, which cannot be read again"));
}

// Reads with each function, until it is stopped or has read all records.
task<> read_single(tfrecords& reader, names& out, bool& again) {
  while (auto record = co_await reader.read()) out.push_back(record->key);
  again = false;
}

task<> read_lists(tfrecords& reader, names& out, bool& again) {
  while (auto some = co_await reader.read_up_to(4)) {
    for (const keyed_record& record : *some) out.push_back(record.key);
  }
  again = false;
}

task<> read_batches(tfrecords& reader, names& out, bool& again) {
  leat::record_batch batch;
  while (co_await reader.read_batch(batch)) {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      out.push_back(leat::tfrecord_reader::key(batch.position(i)));
    }
  }
  again = false;
}

void check_stopped(task<> (*way)(tfrecords&, names&, bool&)) {
  names expected;
  for (const char* name : {"/a:", "/b:", "/c:"}) {
    for (int i = 0; i < 6; ++i) expected.push_back(name + std::to_string(24 * i));
  }
  for (std::uint64_t seed = 0; seed < leat_test::scaled_count(300); ++seed) {
    in_world(
        [&](world& w) -> task<> {
          names_queue q(9);
          co_await write_and_fill(w, q, "/a /b /c", tfrecord_file(6));
          leat::tfrecord_reader_options options;
          options.read.chunk_size = 60;
          tfrecords reader(q, options);
          names found;
          for (bool more = true; more;) {
            task_group group;
            group.spawn(way(reader, found, more));
            co_await leat::sleep_for(std::chrono::microseconds(w.random().uniform_below(600)));
            group.request_stop();
            co_await group.join();
          }
          REQUIRE(found == expected);
          CHECK(reader.num_work_units_completed() == 3);
        },
        seed, {.files = {.faults = {.short_transfer = 0.3, .interrupted = 0.1, .again = 0.1}}});
  }
}

TEST_CASE("filename_queue_reader: a stop at any point loses no file name and no record") {
  check_stopped(read_single);
  check_stopped(read_lists);
  check_stopped(read_batches);
}

}  // namespace filename_queue_reader_resume_test
