// Reads and writes files with the n-th allocation failing.

#include <exception>
#include <filesystem>
#include <new>

#include "faults/failing_allocations.hpp"
#include "leat/codec/checksum/epoch_fingerprint.hpp"
#include "leat/input/filename_queue_reader.hpp"
#include "leat/io/index/indexed_reader.hpp"
#include "leat/io/index/tfrecord_index_file.hpp"
#include "leat/io/reader/tfrecord_reader.hpp"
#include "leat/io/writer/sharded_tfrecord_writer.hpp"
#include "leat/io/writer/tfrecord_appender.hpp"
#include "leat/io/writer/tfrecord_writer.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "leat/sim/world/world.hpp"
#include "support/leat_test.hpp"
#include "support/records/record_bytes.hpp"
#include "support/records/record_files.hpp"
#include "support/temp_dir.hpp"

namespace io_allocation_test {

using leat_test::fail_each_allocation;

task<> file_program(std::string path) {
  {
    auto writer = co_await leat::tfrecord_writer::open(path, {.buffer_size = 64});
    for (int i = 0; i < 5; ++i) co_await writer.write(leat::as_bytes("some record"));
    co_await writer.close();
  }
  auto reader = co_await leat::tfrecord_reader::open(path, {.read = {.chunk_size = 32}});
  leat::record_batch batch;
  while (co_await reader->read_batch(batch)) {
  }
}

TEST_CASE("allocation: a file is written and read", "[faults]") {
  const temp_dir dir;
  const std::string path = dir / "a.tfrecord";
  fail_each_allocation([&] { leat::block_on(file_program(path)); });
}

// Continues after each failure and reads all records.
task<> shuffled_program(std::vector<std::string> paths) {
  const leat::indexed_reader_options options{.num_epochs = 2, .seed = 1, .batch_size = 4};
  const auto reader = co_await leat::indexed_reader::open(std::move(paths), options);
  leat::record_selection batch;
  leat::epoch_fingerprint seen;
  for (bool more = true; more;) {
    try {
      more = co_await reader->read_batch(batch);
    } catch (const std::exception&) {
      if (leat::to_error_code(std::current_exception()) != leat::errc::resource_exhausted) throw;
      batch.clear();  // unchanged if the call itself had no memory
    }
    for (std::size_t i = 0; i < batch.size(); ++i) seen.add(batch.global_index(i), batch[i]);
  }
  if (seen.count() != 2 * reader->size()) throw std::logic_error("records are lost");
}

TEST_CASE("allocation: an indexed_reader loses no record", "[faults]") {
  const temp_dir dir;
  std::vector<std::string> paths;
  for (const char* name : {"a", "b"}) {
    paths.push_back(dir / name);
    leat::block_on(leat_test::write_records(paths.back(), leat_test::texts(9, "a record"), 4096));
  }
  fail_each_allocation([&] { leat::block_on(shuffled_program(paths)); });
}

// Reads until the end and retries after each failure. Each record arrives exactly once.
task<> queue_program(std::string path, std::uint64_t& records) {
  leat::fifo_queue<std::string> names(1);
  co_await names.push(path);
  names.close();
  leat::tfrecord_reader_options options;
  options.read.chunk_size = 60;
  leat::filename_queue_reader<leat::tfrecord_reader> reader(names, options);
  records = 0;
  for (bool more = true; more;) {
    std::optional<std::vector<leat::keyed_record>> some;
    try {
      some = co_await reader.read_up_to(5);
      more = some.has_value();
    } catch (const std::exception&) {
      if (leat::to_error_code(std::current_exception()) != leat::errc::resource_exhausted) throw;
    }
    if (!some) continue;
    for (const leat::keyed_record& r : *some) {
      if (r.index != records || r.value != "record " + std::to_string(records)) {
        FAIL("record " << r.index << " where " << records << " should come");
      }
      ++records;
    }
  }
}

TEST_CASE("allocation: read_up_to of a filename_queue_reader loses no record", "[faults]") {
  const temp_dir dir;
  leat_test::texts twelve;
  for (int i = 0; i < 12; ++i) twelve.push_back("record " + std::to_string(i));
  const std::string path = dir.write("f", leat_test::framed(twelve));
  std::uint64_t records = 0;
  fail_each_allocation([&] {
    leat::block_on(queue_program(path, records));
    CHECK(records == 12);
  });
}

// Reads records far longer than a chunk. The reader continues after a failed allocation.
task<> read_long_records(std::string path, std::size_t& records) {
  auto reader = co_await leat::tfrecord_reader::open(path, {.read = {.chunk_size = 1000}});
  leat::record_batch batch;
  records = 0;
  for (bool more = true; more;) {
    try {
      more = co_await reader->read_batch(batch);
    } catch (const std::bad_alloc&) {
      batch.clear();
    }
    for (const leat::byte_view record : batch) {
      const auto letter = static_cast<char>('a' + records);
      const std::string_view text = leat::as_text(record);
      // All letters are equal if each equals the previous one. A loop takes far longer in a slow
      // build.
      const bool whole = text.size() == 60'000 && text.front() == letter &&
                         text.substr(1) == text.substr(0, text.size() - 1);
      if (!whole) FAIL("another record " << records);
      ++records;
    }
  }
}

TEST_CASE("allocation: a reader without memory for a record has it when asked again", "[faults]") {
  const temp_dir dir;
  const std::string path = dir / "long.tfrecord";
  leat_test::texts long_records;
  for (char c = 'a'; c < 'd'; ++c) long_records.emplace_back(60'000, c);
  leat::block_on(leat_test::write_records(path, long_records, 4096));
  std::size_t records = 0;
  fail_each_allocation([&] {
    records = 3;
    leat::block_on(read_long_records(path, records));
    CHECK(records == 3);
  });
}

task<> compressed_program(std::string path) {
  const leat::tfrecord_writer_options options{
      .buffer_size = 64, .compression = leat::compression::gzip, .output_buffer_size = 16};
  auto writer = co_await leat::tfrecord_writer::open(path, options);
  for (int i = 0; i < 5; ++i) co_await writer.write(leat::as_bytes("some record"));
  co_await writer.close();
}

task<> sharded_program(std::string path) {
  leat::sharded_tfrecord_writer_options options;
  options.max_records = 2;
  auto writer = co_await leat::sharded_tfrecord_writer::open(path, options);
  for (int i = 0; i < 5; ++i) co_await writer.write(leat::as_bytes("some record"));
  co_await writer.close();
}

task<> indexed_program(std::string path) {
  const leat::tfrecord_writer_options options{.buffer_size = 64, .index = true};
  auto writer = co_await leat::tfrecord_writer::open(path, options);
  for (int i = 0; i < 300; ++i) co_await writer.write(leat::as_bytes("some record"));
  co_await writer.close();
  const leat::tfrecord_index index = co_await leat::load_tfrecord_index(path);
  CHECK(index.size() == 300);
}

task<> append_program(std::string path) {
  leat::file empty = co_await leat::file::open(path, leat::open_mode::write);
  co_await empty.close();
  auto appender = co_await leat::tfrecord_appender::open(path, {.buffer_size = 16});
  for (int i = 0; i < 5; ++i) co_await appender.write(leat::as_bytes("some record"));
  co_await appender.close();
}

// Returns the number of temporary files of a writer.
std::size_t unfinished_files(const temp_dir& dir) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path())) {
    const std::string name = entry.path().filename();
    if (name.find(".partial") != name.npos || name.find(".append") != name.npos) ++count;
  }
  return count;
}

TEST_CASE("allocation: writers of records leave no temporary files", "[faults]") {
  const temp_dir dir;
  for (const auto program :
       {compressed_program, sharded_program, indexed_program, append_program}) {
    fail_each_allocation([&] {
      std::exception_ptr error;
      try {
        leat::block_on(program(dir / "a file with a name that is not short"));
      } catch (...) {
        error = std::current_exception();
      }
      if (!error) return;
      CHECK(unfinished_files(dir) == 0);
      std::rethrow_exception(error);
    });
  }
}

TEST_CASE("allocation: a simulated world reports if operator new bypasses it", "[faults]") {
  bool run = false;
  leat::sim::world w(1, {.memory = {.plan = 1}});
  const auto body = [&run](leat::sim::world&) -> task<> {
    run = true;
    co_return;
  };
  CHECK_THROWS_WITH(w.run(body), Catch::Contains("leat/sim/failing_new.hpp"));
  CHECK_FALSE(run);
}

}  // namespace io_allocation_test
