// The turns of other tasks while a reader reads a file in the page cache and never waits.

#include "leat/io/index/indexed_reader.hpp"
#include "leat/io/reader/line_reader.hpp"
#include "leat/io/reader/tfrecord_reader.hpp"
#include "support/leat_test.hpp"
#include "support/records/record_bytes.hpp"
#include "support/records/record_files.hpp"
#include "support/temp_dir.hpp"
#include "support/turns.hpp"

namespace reader_turns_test {

using leat_test::ready_task;
using leat_test::slow_call;

// Returns how often another task runs while `open` has opened a reader and all of it is read.
template <class Batch, class Open>
std::size_t runs_while_reading(Open open) {
  ready_task other;
  std::size_t runs = 0;
  other.run_during([&]() -> task<> {
    auto reader = co_await open();
    Batch batch;
    const std::size_t before = other.runs();
    while (co_await reader->read_batch(batch)) {
    }
    runs = other.runs() - before;
  });
  return runs;
}

TEST_CASE("line_reader: other tasks run while a cached file is read") {
  const temp_dir dir;
  const std::string path = dir.write("lines", std::string(100'000, '\n'));
  CHECK(runs_while_reading<leat::line_batch>(
            [&] { return leat::line_reader::open(path, {.read = {.chunk_size = 50}}); }) >= 5);
}

TEST_CASE("tfrecord_reader: other tasks run while resync searches a cached file") {
  const temp_dir dir;
  const std::string garbage(100'000, 'x');
  const std::string path = dir.write("records", leat_test::framed({"a"}) + garbage);
  CHECK(runs_while_reading<leat::record_batch>([&] {
          return leat::tfrecord_reader::open(
              path, {.corruption = {.policy = leat::corruption_policy::resync},
                     .read = {.chunk_size = 50}});
        }) >= 5);
}

TEST_CASE("tfrecord_reader: timers are served while corrupt records are skipped") {
  constexpr std::size_t count = 60;  // ms
  const temp_dir dir;
  std::string records;
  for (std::size_t i = 0; i < count; ++i) {
    records += leat_test::framed({"record"});
    records.back() ^= 1;  // the checksum
  }
  const std::string path = dir.write("records", records);
  slow_call call;
  leat::tfrecord_reader_options options;
  options.corruption.policy = leat::corruption_policy::skip_record;
  options.corruption.on_report = [&call](const leat::corruption_report&) { call(); };
  leat::block_on(leat_test::read_records(path, options));
  CHECK(call.calls() == count);
  CHECK(call.turns() >= 5);
}

TEST_CASE("indexed_reader: other tasks run while a cached file is read") {
  const temp_dir dir;
  const std::vector<std::string> records(10'000, "record");
  const std::string path = dir.write("records", leat_test::framed(records));
  CHECK(runs_while_reading<leat::record_selection>([&] {
          return leat::indexed_reader::open({path}, {.num_epochs = 1, .seed = 1, .batch_size = 8});
        }) >= 3);
}

}  // namespace reader_turns_test
