// A reader with a queue of names goes on where it, or another one, was.

#include <chrono>
#include <string>
#include <vector>

#include "leat/core/sleep.hpp"
#include "leat/core/task_group.hpp"
#include "leat/io/fixed_length_reader.hpp"
#include "pipeline/queue_reader_support.hpp"

using namespace queue_reader_test;

namespace queue_reader_resume_test {

// Reads `skip` records with one reader, the rest with another one that is given its state.
template <class Reader>
task<names> read_in_two(std::string files, typename Reader::options_type options,
                        std::size_t skip) {
  names_queue q(9);
  co_await fill(q, files);
  names all;
  leat::queue_reader<Reader> first(q, options);
  for (std::size_t i = 0; i < skip; ++i) {
    auto r = co_await first.read();
    if (r) all.push_back(r->key + "=" + r->value);
  }
  leat::queue_reader<Reader> second(q, options);
  second.restore_state(first.serialize_state());
  CHECK(second.serialize_state() == first.serialize_state());
  for (;;) {
    auto r = co_await second.read();
    if (!r) break;
    all.push_back(r->key + "=" + r->value);
  }
  CHECK(second.num_records_produced() == all.size());
  CHECK(second.num_work_units_completed() == 3);
  co_return all;
}

template <class Reader>
void check_resume(const std::string& content, typename Reader::options_type options) {
  options.read.chunk_size = 50;
  in_world([&](world& w) -> task<> {
    for (const char* name : {"/a", "/b"}) w.files().write_file(name, content);
    w.files().write_file("/empty", std::string(content.size() < 100 ? 5 : 0, 'H'));
    const names whole = co_await read_in_two<Reader>("/a /empty /b", options, 0);
    REQUIRE(whole.size() > 8);
    for (std::size_t k = 1; k <= whole.size() + 1; ++k) {
      const names both = co_await read_in_two<Reader>("/a /empty /b", options, k);
      REQUIRE(both == whole);
    }
  });
}

// R15 otherwise: TensorFlow's readers of lines, of records of one length and of TFRecords refuse.
TEST_CASE("queue_reader: each format goes on after any record", "[pipeline]") {
  check_resume<leat::tfrecord_reader>(tfrecord_file(10), {});
  std::string text;
  for (int i = 0; i < 12; ++i) text += std::string(static_cast<std::size_t>(3 * i), '.') + "\r\n";
  check_resume<leat::line_reader>(text + "last", {.skip_header_lines = 2});
  check_resume<leat::fixed_length_reader>(
      "HHHHH0123456789012345FF",
      {.record_size = 3, .header_size = 5, .footer_size = 2, .hop_size = 2});
}

TEST_CASE("queue_reader: it does not go on in a file that has changed", "[pipeline]") {
  in_world([](world& w) -> task<> {
    w.files().write_file("/a", tfrecord_file(10));
    names_queue q(9);
    co_await fill(q, "/a");
    tfrecords first(q);
    static_cast<void>(co_await first.read());
    tfrecords second(q, {}, "the reader");
    second.restore_state(first.serialize_state());
    w.files().write_file("/a", tfrecord_file(11));
    const std::string said = co_await error_of_read(second, errc::failed_precondition);
    CHECK(said.find("the reader: cannot go on in /a: the file has changed") != std::string::npos);
    CHECK(said.find("240 bytes then, 265 now") != std::string::npos);
  });
}

TEST_CASE("queue_reader: stopped anywhere no name and no record is lost", "[pipeline]") {
  names expected;
  for (const char* name : {"/a:", "/b:", "/c:"}) {
    for (int i = 0; i < 6; ++i) expected.push_back(name + std::to_string(24 * i));
  }
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    in_world(
        [&](world& w) -> task<> {
          names_queue q(9);
          for (const char* name : {"/a", "/b", "/c"}) {
            w.files().write_file(name, tfrecord_file(6));
            co_await q.push(name);
          }
          q.close();
          leat::tfrecord_reader_options options;
          options.read.chunk_size = 60;
          tfrecords reader(q, options);
          names found;
          for (bool more = true; more;) {
            leat::task_group group;
            group.spawn([](tfrecords& r, names& out, bool& again) -> task<> {
              while (auto record = co_await r.read()) out.push_back(record->key);
              again = false;
            }(reader, found, more));
            co_await leat::sleep_for(std::chrono::microseconds(w.random().below(600)));
            group.request_stop();
            co_await group.join();
          }
          REQUIRE(found == expected);
          CHECK(reader.num_work_units_completed() == 3);
        },
        seed, {.files = {.faults = {.short_transfer = 0.3, .interrupted = 0.1, .again = 0.1}}});
  }
}

}  // namespace queue_reader_resume_test
