// Readers with a queue of names.

#include "leat/input/filename_queue_reader.hpp"

#include "input/filename_queue_reader_support.hpp"
#include "leat/coordination.hpp"
#include "leat/input.hpp"
#include "support/leat_test.hpp"

namespace filename_queue_reader_test {

using namespace filename_queue_reader_test;

// --------------------------------------------------------------------------------- the contract

// Unlike TensorFlow's, every reader can save its state: see filename_queue_reader_resume_test.cpp.

LEAT_TEST("filename_queue_reader: counts records and files") {
  names_queue q(99);
  identities reader(q);
  co_await fill(q, "A B C");
  CHECK(reader.num_records_produced() == 0);
  CHECK(reader.num_work_units_completed() == 0);
  CHECK(q.size() == 3);
  const auto a = co_await reader.read();
  CHECK(a->key == "A");
  CHECK(a->value == "A");
  CHECK(reader.num_records_produced() == 1);
  CHECK(co_await next_value(reader) == "B");
  CHECK(co_await next_value(reader) == "C");
  CHECK(co_await next_value(reader) == "the end");
  CHECK(reader.num_work_units_completed() == 3);
  CHECK(reader.num_records_produced() == 3);
  CHECK(q.size() == 0);
}

LEAT_TEST("filename_queue_reader: accepts file names while it reads") {
  names_queue q(99);
  identities reader(q);
  for (int round = 0; round < 3; ++round) {
    co_await fill(q, "DD EE", round == 2);
    CHECK(co_await next_value(reader) == "DD");
    CHECK(co_await next_value(reader) == "EE");
  }
  CHECK(co_await next_value(reader) == "the end");
}

LEAT_TEST("filename_queue_reader: saves and restores a state with stable bytes") {
  names_queue q(99);
  identities reader(q);
  co_await fill(q, "X Y Z", false);
  CHECK(co_await next_value(reader) == "X");
  const std::string state = reader.serialize_state();
  CHECK(state == std::string("\x08\x01\x10\x01\x18\x01\x22\x01X"));
  CHECK(co_await next_value(reader) == "Y");
  CHECK(co_await next_value(reader) == "Z");
  co_await fill(q, "Y Z");
  reader.restore_state(state);
  CHECK(reader.num_records_produced() == 1);
  CHECK(co_await next_value(reader) == "Y");
  CHECK(co_await next_value(reader) == "Z");
  CHECK(co_await next_value(reader) == "the end");
  CHECK(reader.num_records_produced() == 3);
}

TEST_CASE("filename_queue_reader: invalid state bytes change nothing") {
  names_queue q(1);
  identities reader(q, {}, "my reader");
  const std::string good("\x08\x01\x10\x01\x18\x01\x22\x01X");
  reader.restore_state(good);
  const std::vector<std::string> bad = {
      good.substr(1),
      good.substr(0, good.size() - 1),
      good + "ExtraJunk",
      "Junk" + good,
      "\x99" + good.substr(1),
      "BOGUS" + good.substr(5),
      std::string("\x08\x02\x10\x01\x18\x01\x22\x01X"),
      std::string("\x08\x01\x10\x02\x18\x01\x22\x01X"),          // more files finished than started
      std::string("\x08\x01\x10\x01\x18\x01\x22\x01X\x28\x05"),  // a position without a file
      // With 2^64 - 1 files, the next file would set the count to 0, and the next state would be
      // refused.
      "\x08" + std::string(9, '\xff') + "\x01\x10" + std::string(9, '\xff') + "\x01",
  };
  for (const std::string& bytes : bad) {
    CAPTURE(bytes);
    CHECK_FAILS(errc::invalid_argument, "my reader", reader.restore_state(bytes));
    REQUIRE(reader.serialize_state() == good);
  }
}

LEAT_TEST("filename_queue_reader: reset forgets the current file, not the queue") {
  names_queue q(99);
  identities reader(q);
  co_await fill(q, "X Y Z", false);
  CHECK(co_await next_value(reader) == "X");
  CHECK(co_await next_value(reader) == "Y");
  reader.reset();
  CHECK(reader.num_records_produced() == 0);
  CHECK(reader.num_work_units_completed() == 0);
  CHECK(q.size() == 1);
  co_await fill(q, "K L");
  CHECK(co_await next_value(reader) == "Z");
  CHECK(co_await next_value(reader) == "K");
}

LEAT_WORLD_TEST(
    "filename_queue_reader: a missing file is an error that names it, then the next follows") {
  w.files().write_file("/good", "one\ntwo\n");
  names_queue q(9);
  co_await fill(q, "/missing /good");
  lines reader(q);
  CHECK(contains(co_await error_of_read(reader, errc::not_found), "/missing"));
  CHECK(co_await next_key(reader) == "/good:1");
}

LEAT_WORLD_TEST("filename_queue_reader: skips a missing file according to the policy") {
  w.files().write_file("/good", "one\n");
  names_queue q(9);
  co_await fill(q, "/missing /good /gone");
  std::vector<leat::corruption_report> reports;
  leat::line_reader_options options;
  options.corruption.policy = leat::corruption_policy::skip_file;
  options.corruption.on_report = [&](const leat::corruption_report& r) { reports.push_back(r); };
  lines reader(q, options);
  CHECK(co_await next_value(reader) == "one");
  CHECK(co_await next_value(reader) == "the end");
  REQUIRE(reports.size() == 2);
  CHECK(reports[0].path == "/missing");
  CHECK(contains(reports[1].what, "/gone"));
  CHECK(reader.reports() == 2);
}

LEAT_WORLD_TEST("filename_queue_reader: counts a file when its end is reached") {
  names_queue q(9);
  co_await write_and_fill(w, q, "/a", "one\ntwo\n");
  lines reader(q);
  CHECK(co_await next_value(reader) == "one");
  CHECK(co_await next_value(reader) == "two");
  CHECK(reader.num_work_units_completed() == 0);
  CHECK(co_await next_value(reader) == "the end");
  CHECK(reader.num_work_units_completed() == 1);
}

LEAT_WORLD_TEST(
    "filename_queue_reader: read_up_to returns all records, at most the count, each of one file") {
  names expected;
  for (const auto& [name, records] : {std::pair("/six", 6), {"/seven", 7}, {"/two", 2}}) {
    w.files().write_file(name, tfrecord_file(records));
    for (int i = 0; i < records; ++i) {
      expected.push_back(name + (":" + std::to_string(24 * i)) + "=record " + std::to_string(i));
    }
  }
  names_queue q(9);
  co_await fill(q, "/six /seven /two");
  tfrecords reader(q);
  auto none = co_await reader.read_up_to(0);
  REQUIRE(none);
  CHECK(none->empty());
  CHECK(q.size() == 3);
  std::vector<std::size_t> sizes;
  names found;
  while (auto some = co_await reader.read_up_to(3)) {
    sizes.push_back(some->size());
    for (const auto& r : *some) found.push_back(r.key + "=" + r.value);
  }
  CHECK(sizes == std::vector<std::size_t>{3, 3, 3, 3, 1, 2});
  CHECK(found == expected);
  CHECK(reader.num_records_produced() == 15);
}

LEAT_TEST("filename_queue_reader: refuses a negative count and changes nothing") {
  names_queue q(9);
  co_await fill(q, "A B");
  identities reader(q, {}, "my reader");
  for (const std::ptrdiff_t count : {std::ptrdiff_t{-1}, PTRDIFF_MIN}) {
    const std::string said = co_await message_of(reader.read_up_to(static_cast<std::size_t>(count)),
                                                 errc::invalid_argument);
    CHECK(said.starts_with("my reader: count of read_up_to() is " + std::to_string(count)));
  }
  CHECK(q.size() == 2);
  CHECK(reader.num_records_produced() == 0);
  CHECK(co_await next_value(reader) == "A");
}

LEAT_WORLD_TEST("filename_queue_reader: read_up_to returns its records, and the next call fails") {
  std::string damaged = tfrecord_file(4);
  damaged[2 * 24 + 14] ^= 1;
  names_queue q(9);
  co_await write_and_fill(w, q, "/a", damaged);
  tfrecords reader(q);
  auto some = co_await reader.read_up_to(10);
  REQUIRE(some);
  CHECK(some->size() == 2);
  CHECK(reader.num_records_produced() == 2);
  for (int i = 0; i < 2; ++i) {
    CHECK(contains(co_await error_of_read(reader, errc::data_loss), "record 2 at offset 48"));
  }
}

LEAT_TEST("filename_queue_reader: a reader that waits for a name does not block others") {
  names_queue queues[3] = {names_queue(1), names_queue(1), names_queue(1)};
  std::string order;
  task_group group;
  for (names_queue& q : queues) {
    group.spawn([](names_queue& from, std::string& out) -> task<> {
      identities reader(from);
      out += co_await next_value(reader);
    }(q, order));
  }
  co_await leat::this_task::yield();
  for (int i = 2; i >= 0; --i) {
    co_await queues[i].push(std::to_string(i));
    co_await leat::this_task::yield();
    co_await leat::this_task::yield();
  }
  co_await group.join();
  CHECK(order == "210");
}

LEAT_TEST("filename_queue_reader: counters are available while it waits for a name") {
  names_queue q(1);
  identities reader(q);
  task_group group;
  group.spawn([](identities& r) -> task<> { CHECK(co_await next_value(r) == "the end"); }(reader));
  co_await leat::this_task::yield();
  CHECK(reader.num_records_produced() == 0);
  q.close();
  co_await group.join();
}

// ------------------------------------------------- errors on their way through a whole pipeline

// Pops the records of a file from a queue that a runner fills. Returns the reason for the end.
task<std::string> consume(leat::fifo_queue<std::string>& q) {
  std::string said = "the end";
  try {
    while (auto r = co_await q.pop()) static_cast<void>(*r);
  } catch (const leat::failure& e) {
    CHECK(e.code() == errc::not_found);
    said = e.what();
  }
  co_return said;
}

task<bool> read_one(lines& reader, leat::fifo_queue<std::string>& to) {
  auto r = co_await reader.read();
  if (!r) co_return false;
  co_return co_await to.push(std::move(r->value));
}

TEST_CASE("filename_queue_reader: the consumer receives the error of a missing file") {
  for (const bool coordinated : {true, false}) {
    in_world([&](world& w) -> task<> {
      w.files().write_file("/good", "one\n");
      names_queue q(9);
      co_await fill(q, "/good /missing");
      lines reader(q);
      leat::fifo_queue<std::string> to(1);
      leat::queue_runner runner(to);
      runner.add([&] { return read_one(reader, to); });
      leat::coordinator coord;
      task_group group;
      if (coordinated) {
        runner.start(coord);
      } else {
        runner.start(group);
      }
      const std::string said = co_await consume(to);
      CHECK(contains(said, "/missing"));
      std::string joined;
      try {
        co_await coord.join();
        co_await group.join();
      } catch (const leat::failure& e) {
        joined = e.what();
      }
      CHECK(joined == said);
    });
  }
}

// ---------------------------------------------------------------------------------- D. lines

TEST_CASE("filename_queue_reader: reads lines of two files with their keys") {
  for (const std::string end : {"\n", "\r\n"}) {
    for (const std::size_t header : {0U, 1U}) {
      in_world([&](world& w) -> task<> {
        names expected;
        for (int f = 0; f < 2; ++f) {
          std::string text;
          for (int i = 0; i < 5; ++i) {
            const std::string line = std::to_string(f) + ": " + std::to_string(i);
            text += line + (f == 1 && i == 4 ? "" : end);
            if (static_cast<std::size_t>(i) < header) continue;
            expected.push_back("/" + std::to_string(f) + ":" + std::to_string(i + 1) + "=" + line);
          }
          w.files().write_file("/" + std::to_string(f), text);
        }
        names_queue q(9);
        co_await fill(q, "/0 /1");
        lines reader(q, {.skip_header_lines = header});
        names found;
        while (auto r = co_await reader.read()) found.push_back(r->key + "=" + r->value);
        CHECK(found == expected);
      });
    }
  }
}

LEAT_WORLD_TEST("filename_queue_reader: skips and counts files without records") {
  w.files().write_file("/empty", "");
  w.files().write_file("/two", "1\n2\n");
  w.files().write_file("/seven", "1\n2\n3\n4\n5\n6\n7\n");
  names_queue q(9);
  co_await fill(q, "/empty /two /seven");
  lines reader(q, {.skip_header_lines = 5});
  CHECK(co_await next_key(reader) == "/seven:6");
  CHECK(co_await next_key(reader) == "/seven:7");
  CHECK(co_await next_key(reader) == "the end");
  CHECK(reader.num_work_units_completed() == 3);
  CHECK(reader.num_records_produced() == 2);
}

// ------------------------------------------------------------------------------ F. whole files

LEAT_WORLD_TEST("filename_queue_reader: reads complete files") {
  const names contents = {"One\na\nb\n", "Two\nC\nD", "Three x, y, z"};
  names_queue q(9);
  wholes reader(q);
  for (std::size_t i = 0; i < 3; ++i) w.files().write_file("/" + std::to_string(i), contents[i]);
  for (const std::size_t round : {0U, 1U}) {
    co_await fill(q, "/0 /1 /2", round == 1);
    for (std::size_t i = 0; i < 3; ++i) {
      const auto r = co_await reader.read();
      CHECK(r->key == "/" + std::to_string(i));
      CHECK(r->value == contents[i]);
      CHECK(reader.num_work_units_completed() == 3 * round + i + 1);
    }
  }
  CHECK(co_await next_value(reader) == "the end");
}

LEAT_WORLD_TEST("filename_queue_reader: a producer that was never started is an error after 60 s") {
  w.files().write_file("/a", "one\n");
  leat::string_input_producer producer(names{"/a"}, {.num_epochs = 1, .name = "filenames"});
  lines reader(producer.queue());
  const leat::time_point begin = w.now();
  const std::string said = co_await error_of_read(reader, errc::deadline_exceeded);
  CHECK(contains(said, "producer 'filenames' was never started: call its start(coordinator)"));
  CHECK(w.now() - begin >= std::chrono::seconds(60));
  // Continues with the same reader after the producer starts.
  leat::coordinator coord;
  producer.start(coord);
  CHECK(co_await next_value(reader) == "one");
  CHECK(co_await next_value(reader) == "the end");
  co_await coord.join();
}

LEAT_WORLD_TEST("filename_queue_reader: a producer may be started during the wait") {
  w.files().write_file("/a", "one\n");
  leat::string_input_producer producer(names{"/a"}, {.num_epochs = 1});
  leat::coordinator coord;
  task_group group;
  group.spawn([](auto& names, leat::coordinator& c) -> task<> {
    co_await leat::sleep_for(std::chrono::seconds(30));
    names.start(c);
  }(producer, coord));
  lines reader(producer.queue());
  CHECK(co_await next_value(reader) == "one");
  co_await group.join();
  co_await coord.join();
}

LEAT_WORLD_TEST("filename_queue_reader: waits without a limit for a queue without a producer") {
  w.files().write_file("/a", "one\n");
  names_queue names(1, "names");
  task_group group;
  group.spawn([](names_queue& q) -> task<> {
    co_await leat::sleep_for(std::chrono::minutes(5));
    co_await fill(q, "/a");
  }(names));
  lines reader(names);
  CHECK(co_await next_value(reader) == "one");
  co_await group.join();
}

}  // namespace filename_queue_reader_test
