// Misuse of files, readers and writers is reported before any data is lost.

#include "leat/codec/compression/deflater.hpp"
#include "leat/io/index/tfrecord_file.hpp"
#include "leat/io/reader/line_reader.hpp"
#include "leat/io/reader/quarantine_log.hpp"
#include "leat/io/reader/tfrecord_reader.hpp"
#include "leat/io/writer/sharded_tfrecord_writer.hpp"
#include "leat/io/writer/tfrecord_appender.hpp"
#include "leat/io/writer/tfrecord_writer.hpp"
#include "leat/sim/world/world.hpp"
#include "support/descriptors.hpp"
#include "support/leat_test.hpp"
#include "support/records/record_bytes.hpp"
#include "support/temp_dir.hpp"

namespace misuse_test {

using leat::file;
using leat::sim::world;
using leat_test::abort_message;

// Runs the body in a world with a TFRecord file and an empty pipe. Returns the message with which
// the process aborts.
std::string last_words_in_world(const world::body& body) {
  return abort_message([&] {
    world w(1);
    w.files().write_file("/f", leat_test::framed({"one", "two"}));
    w.files().make_pipe("/pipe");
    w.run(body);
  });
}

template <class Writer>
std::string last_words_of_moved() {
  return last_words_in_world([](world&) -> task<> {
    auto first = co_await Writer::open("/f", {});
    const auto second = std::move(first);
    co_await first.write(leat::as_bytes("x"));
  });
}

TEST_CASE("misuse: use of a moved-from writer aborts with a message") {
  for (const std::string& said : {last_words_of_moved<leat::tfrecord_writer>(),
                                  last_words_of_moved<leat::sharded_tfrecord_writer>(),
                                  last_words_of_moved<leat::tfrecord_appender>()}) {
    CHECK(contains(said, "used after a move"));
  }
}

TEST_CASE("misuse: use of a moved-from codec aborts with a message") {
  CHECK(contains(abort_message([] {
                   leat::deflater first(leat::compression::gzip);
                   const leat::deflater second = std::move(first);
                   first.reset();
                 }),
                 "deflater was moved from"));
}

task<> read_batch(leat::line_reader& reader) {
  leat::line_batch batch;
  co_await reader.read_batch(batch);
}

TEST_CASE("misuse: two reads of a reader, or its destruction during a read, abort") {
  const std::string shared = last_words_in_world([](world&) -> task<> {
    auto reader = co_await leat::line_reader::open("/pipe");
    leat::task_group group;
    group.spawn(read_batch(*reader));
    group.spawn(read_batch(*reader));
    co_await group.join();
  });
  CHECK(contains(shared, "reader, writer or pipeline used by two tasks at the same time"));
  const std::string destroyed = last_words_in_world([](world&) -> task<> {
    auto reader = co_await leat::line_reader::open("/pipe");
    leat::task_group group;
    group.spawn(read_batch(*reader));
    co_await leat::sleep_for(std::chrono::seconds(1));
    reader.reset();
    co_await group.join();
  });
  CHECK(contains(destroyed, "destroyed while a task uses it"));
}

task<> read_some(file& f) {
  std::vector<std::byte> to(10);
  co_await f.read_at(f.status().is_stream ? leat::at_stream_position : 0, to);
}

TEST_CASE("misuse: closing or destroying a file during an operation aborts") {
  for (const bool closes : {true, false}) {
    const std::string said = last_words_in_world([closes](world&) -> task<> {
      std::optional<file> f(co_await file::open("/pipe"));
      leat::task_group group;
      group.spawn(read_some(*f));
      co_await leat::sleep_for(std::chrono::seconds(1));
      if (closes) {
        co_await f->close();
      } else {
        f.reset();
      }
      co_await group.join();
    });
    CHECK(contains(
        said, closes ? "file closed while a task uses it" : "file destroyed while a task uses it"));
  }
}

TEST_CASE("misuse: use on another scheduler aborts, destruction on any scheduler closes the file") {
  const temp_dir dir;
  const std::string path = dir.write("f", "a line\n");
  const std::size_t before = leat_test::open_descriptors();
  const std::string said = abort_message([&] {
    file f = leat::block_on(file::open(path));
    leat::block_on(read_some(f));
  });
  CHECK(contains(said, "on another scheduler"));
  auto reader = leat::block_on(leat::line_reader::open(path));
  leat::block_on([](std::unique_ptr<leat::line_reader> r) -> task<> {
    r.reset();
    co_return;
  }(std::move(reader)));
  CHECK(leat_test::open_descriptors() == before);
}

TEST_CASE("misuse: readers and writers refuse a closed file") {
  CHECK_THROWS_WITH(leat::line_reader(file(), {}), Catch::Contains("file is not open"));
  CHECK_THROWS_WITH(leat::tfrecord_file(file(), {}, {}), Catch::Contains("file is not open"));
  const auto add = []() -> task<> {
    leat::quarantine_log log{file()};
    const leat::corruption_report report;
    co_await log.add(report);
  };
  CHECK(contains(error_of(add(), errc::failed_precondition), "file is not open"));
}

TEST_CASE("misuse: refuses offsets beyond the largest file") {
  const temp_dir dir;
  const std::string path = dir.write("f", "a line\n");
  const auto read_at = [](std::string p, std::uint64_t offset) -> task<> {
    file f = co_await file::open(p);
    std::vector<std::byte> to(10);
    co_await f.read_at(offset, to);
  };
  const auto write_at = [](std::string p, std::uint64_t offset) -> task<> {
    file f = co_await file::open(p, leat::open_mode::append);
    co_await f.write_at(offset, leat::as_bytes("text"));
  };
  for (const std::uint64_t offset : {UINT64_MAX / 2 + 1, UINT64_MAX - 1}) {
    CHECK(contains(error_of(read_at(path, offset), errc::invalid_argument), path));
    CHECK(contains(error_of(write_at(path, offset), errc::invalid_argument), path));
  }
  CHECK(temp_dir::read(path) == "a line\n");
}

TEST_CASE("misuse: more records than there are cannot be dropped") {
  CHECK(contains(abort_message([] { leat::record_batch().drop_front(1); }),
                 "drop_front() of more records than the batch has"));
}

TEST_CASE("misuse: an exception of on_report ends the read, and the next read continues") {
  std::string bytes = leat_test::framed({"one", "two", "three"});
  bytes[16 + 3 + 13] ^= 1;
  world w(1);
  w.files().write_file("/f", bytes);
  w.run([](world&) -> task<> {
    leat::tfrecord_reader_options options;
    options.corruption.policy = leat::corruption_policy::skip_record;
    options.corruption.on_report = [](const leat::corruption_report&) {
      throw std::runtime_error("the log is full");
    };
    auto reader = co_await leat::tfrecord_reader::open("/f", options);
    leat::record_batch batch;
    std::vector<std::string> records;
    std::string error;
    for (bool more = true; more;) {
      try {
        more = co_await reader->read_batch(batch);
      } catch (const std::runtime_error& e) {
        error += e.what();
        batch.clear();
      }
      for (const leat::byte_view r : batch) records.emplace_back(leat::as_text(r));
    }
    CHECK(records == std::vector<std::string>{"one", "three"});
    CHECK(error == "the log is full");
  });
}

}  // namespace misuse_test
