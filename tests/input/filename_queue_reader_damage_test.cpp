// The records that a reader with a queue of names skips or delivers, and their statistics.

#include <new>
#include <source_location>

#include "input/filename_queue_reader_support.hpp"
#include "leat/io/file/file.hpp"
#include "leat/io/reader/fixed_length_reader.hpp"
#include "support/leat_test.hpp"
#include "support/turns.hpp"

using namespace filename_queue_reader_test;

namespace filename_queue_reader_damage_test {

leat::line_reader_options skip_files() {
  leat::line_reader_options options;
  options.corruption.policy = leat::corruption_policy::skip_file;
  return options;
}

LEAT_WORLD_TEST("filename_queue_reader: an invalid option is not reported as a corrupt file") {
  names_queue q(9);
  co_await write_and_fill(w, q, "/a /b /c", "one\n");
  leat::line_reader_options options = skip_files();
  options.max_line_size = 0;
  lines reader(q, options);
  for (int i = 0; i < 2; ++i) {
    CHECK(contains(co_await error_of_read(reader, errc::invalid_argument),
                   "/a: max_line_size is 0, must be 1 or more"));
  }
  CHECK(reader.reports() == 0);
  CHECK(q.size() == 2);
}

TEST_CASE("filename_queue_reader: ends the turn while it skips names that never wait") {
  leat_test::slow_call call;
  leat::block_on([](leat_test::slow_call& report) -> task<> {
    names_queue q(leat::unbounded);
    for (int i = 0; i < 50; ++i) co_await q.push(std::string(1, '\0'));  // names no file
    q.close();
    leat::line_reader_options options = skip_files();
    options.corruption.on_report = [&report](const leat::corruption_report&) { report(); };
    lines reader(q, options);
    CHECK_FALSE(co_await reader.read());
  }(call));
  CHECK(call.calls() == 50);
  CHECK(call.turns() >= 5);
}

TEST_CASE("filename_queue_reader: a file waits until there are descriptors") {
  leat::sim::world_options few;
  few.files.max_open_files = 2;  // one being read and one being closed
  for (const leat::line_reader_options& options : {leat::line_reader_options{}, skip_files()}) {
    in_world(
        [&](world& w) -> task<> {
          w.files().write_file("/other", "one\n");
          names_queue q(9);
          co_await write_and_fill(w, q, "/a /b", "one\n");
          lines reader(q, options);
          leat::file other = co_await leat::file::open("/other", leat::open_mode::read);
          leat::file another = co_await leat::file::open("/other", leat::open_mode::read);
          for (int i = 0; i < 2; ++i) {
            CHECK(contains(co_await error_of_read(reader, errc::resource_exhausted), "/a"));
          }
          co_await other.close();
          co_await another.close();
          CHECK(co_await next_key(reader) == "/a:1");
          CHECK(co_await next_key(reader) == "/b:1");
          CHECK(co_await next_key(reader) == "the end");
          CHECK(reader.reports() == 0);
        },
        1, few);
  }
}

// Throws std::bad_alloc from the first `missing` calls of open().
struct large_reader : leat::line_reader {
  using leat::line_reader::line_reader;
  static inline int missing = 0;

  static task<std::unique_ptr<large_reader>> open(std::string path, options_type options,
                                                  std::source_location where) {
    if (missing > 0) {
      --missing;
      throw std::bad_alloc();
    }
    leat::file f = co_await leat::file::open(std::move(path), leat::open_mode::read, where);
    co_return std::make_unique<large_reader>(std::move(f), options);
  }
};

LEAT_WORLD_TEST("filename_queue_reader: a file waits until there is memory") {
  names_queue q(9);
  co_await write_and_fill(w, q, "/a", "one\n");
  leat::filename_queue_reader<large_reader> reader(q, skip_files());
  large_reader::missing = 2;
  for (int i = 0; i < 2; ++i) CHECK(co_await throws<std::bad_alloc>(reader.read()));
  CHECK(co_await next_key(reader) == "/a:1");
  CHECK(reader.reports() == 0);
}

// Throws std::bad_alloc once for the key of each record in `missing`.
struct keyless_reader : leat::line_reader {
  using leat::line_reader::line_reader;
  static inline std::vector<std::uint64_t> missing = {};

  static task<std::unique_ptr<keyless_reader>> open(std::string path, options_type options,
                                                    std::source_location where) {
    leat::file f = co_await leat::file::open(std::move(path), leat::open_mode::read, where);
    co_return std::make_unique<keyless_reader>(std::move(f), options);
  }
  static std::string key(const leat::record_position& p) {
    if (std::erase(missing, p.index) > 0) throw std::bad_alloc();
    return leat::line_reader::key(p);
  }
};

LEAT_WORLD_TEST("filename_queue_reader: read_up_to loses no record if memory runs out") {
  names_queue q(9);
  co_await write_and_fill(w, q, "/a", "0\n1\n2\n3\n4\n5\n6\n7\n");
  leat::line_reader_options options;
  options.read.chunk_size = 4;
  leat::filename_queue_reader<keyless_reader> reader(q, options);
  keyless_reader::missing = {0, 3, 6};
  std::vector<std::string> lists;
  for (;;) {
    try {
      auto some = co_await reader.read_up_to(100);
      if (!some) break;
      lists.emplace_back();
      for (const keyed_record& r : *some) lists.back() += r.value;
      CHECK(reader.num_records_produced() ==
            std::stoull("0" + lists.back().substr(lists.back().size() - 1)) + 1);
    } catch (const std::bad_alloc&) {
      lists.push_back("no memory");
    }
  }
  CHECK(lists == std::vector<std::string>{"no memory", "012", "345", "67"});
}

TEST_CASE("filename_queue_reader: a stop ends read_up_to and does not affect the next call") {
  int cut = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    in_world(
        [&](world& w) -> task<> {
          names_queue q(1);
          co_await write_and_fill(w, q, "/a", tfrecord_file(20));
          leat::tfrecord_reader_options options;
          options.read.chunk_size = 60;
          tfrecords reader(q, options);
          std::size_t first = 0;
          task_group group;
          group.spawn([](tfrecords& r, std::size_t& count) -> task<> {
            auto some = co_await r.read_up_to(100);
            if (some) count = some->size();
          }(reader, first));
          co_await leat::sleep_for(std::chrono::microseconds(w.random().uniform_below(1000)));
          group.request_stop();
          co_await group.join();
          CHECK(reader.num_records_produced() == first);
          if (first == 20) co_return;
          if (first > 0) ++cut;
          auto rest = co_await reader.read_up_to(100);
          REQUIRE(rest);
          CHECK(rest->size() == 20 - first);
          CHECK(rest->front().index == first);
        },
        seed);
  }
  CHECK(cut > 0);
}

LEAT_WORLD_TEST("filename_queue_reader: skips names that no file can have") {
  w.files().write_file("/a", "one\n");
  names_queue q(9);
  co_await q.push(std::string("/a\0b", 4));
  co_await fill(q, "/ /a");
  lines reader(q, skip_files());
  CHECK(co_await next_key(reader) == "/a:1");
  CHECK(co_await next_key(reader) == "the end");
  CHECK(reader.reports() == 2);
}

leat::tfrecord_reader_options at_most(std::uint64_t reports) {
  leat::tfrecord_reader_options options;
  options.corruption.policy = leat::corruption_policy::resync;
  options.corruption.max_reports = reports;
  return options;
}

TEST_CASE("filename_queue_reader: max_reports counts over all files, and on after a restore") {
  for (int taken = 0; taken <= 5; ++taken) {  // 0: without a restore
    CAPTURE(taken);
    in_world([&](world& w) -> task<> {
      names_queue q(9);
      co_await write_and_fill(w, q, "/a /b /c", damaged_file());
      tfrecords first(q, at_most(2));
      for (int i = 0; i < taken; ++i) CHECK(co_await first.read());
      tfrecords second(q, at_most(2));
      if (taken > 0) second.restore_state(first.serialize_state());
      CHECK(second.reports() == first.reports());
      CHECK(second.serialize_state() == first.serialize_state());
      for (int i = taken; i < 5; ++i) CHECK(co_await second.read());
      CHECK(second.reports() == 2);
      const std::string said = co_await error_of_read(second, errc::data_loss);
      CHECK(contains(said, "/c, record 1"));
      CHECK(contains(said, "reach the limit"));
      second.reset();
      CHECK(second.reports() == 0);
    });
  }
}

LEAT_WORLD_TEST("filename_queue_reader: missing files count after a restore") {
  w.files().write_file("/a", "one\n");
  names_queue q(9);
  co_await fill(q, "/missing /a /gone");
  leat::line_reader_options options = skip_files();
  options.corruption.max_reports = 1;
  lines first(q, options);
  CHECK(co_await next_key(first) == "/a:1");
  lines second(q, options);
  second.restore_state(first.serialize_state());
  CHECK(second.reports() == 1);
  CHECK(contains(co_await error_of_read(second, errc::not_found), "/gone"));
}

TEST_CASE("filename_queue_reader: counts bytes of partial records over all files") {
  for (std::size_t taken = 0; taken <= 5; ++taken) {
    in_world([&](world& w) -> task<> {
      names_queue q(9);
      co_await write_and_fill(w, q, "/a /b", "abcdefgh");
      leat::fixed_length_reader_options options;
      options.record_size = 3;
      leat::filename_queue_reader<leat::fixed_length_reader> first(q, options);
      for (std::size_t i = 0; i < taken; ++i) static_cast<void>(co_await first.read());
      CHECK(first.left_over() == (taken < 3 ? 0U : taken < 5 ? 2U : 4U));
      leat::filename_queue_reader<leat::fixed_length_reader> second(q, options);
      second.restore_state(first.serialize_state());
      while (co_await second.read()) {
      }
      CHECK(second.left_over() == 4);
    });
  }
}

LEAT_WORLD_TEST("filename_queue_reader: counts the bytes of a tolerated tail") {
  const std::string whole = tfrecord_file(2);
  names_queue q(9);
  co_await write_and_fill(w, q, "/a", whole.substr(0, whole.size() - 4));
  leat::tfrecord_reader_options options;
  options.tolerate_truncated_tail = true;
  tfrecords reader(q, options);
  CHECK(co_await next_key(reader) == "/a:0");
  CHECK(co_await next_key(reader) == "the end");
  CHECK(reader.left_over() == 20);
  CHECK(reader.reports() == 0);
}

}  // namespace filename_queue_reader_damage_test
