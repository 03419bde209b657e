// EIO at every single operation of a reader in turn, in a simulated world, with worker threads and
// with io_uring. The next call continues at the failed record. identity_reader reads no files.

#include <algorithm>

#include "leat/input/filename_queue_reader.hpp"
#include "leat/io.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "leat/sim/world/world.hpp"
#include "leat/train/summary/event_reader.hpp"
#include "sim/file_system/transient_faults.hpp"
#include "support/leat_test.hpp"
#include "support/records/record_bytes.hpp"
#include "support/records/record_files.hpp"
#include "support/records/zlib_oracle.hpp"

namespace transient_read_error_test {

using leat::sim::world;
using leat_test::check_everywhere;
using leat_test::framed;
using leat_test::repeat_after_errors;
using leat_test::texts;
using leat_test::zlib_deflated;

// Reads a whole file into `out`, and repeats the call after each EIO. Returns the number of these
// errors.
template <class Reader>
task<std::size_t> read_all(std::string path, typename Reader::options_type options, texts& out) {
  std::unique_ptr<Reader> reader;
  typename Reader::batch_type batch;
  co_return co_await repeat_after_errors([&]() -> task<bool> {
    if (!reader) reader = co_await Reader::open(path, options);
    const bool more = co_await reader->read_batch(batch);
    for (const auto record : batch) {
      out.emplace_back(reinterpret_cast<const char*>(record.data()), record.size());
    }
    co_return more;
  });
}

texts some_texts(std::size_t count) {
  texts all;
  for (std::size_t i = 0; i < count; ++i)
    all.push_back(std::to_string(i) + std::string(i % 90, 'x'));
  return all;
}

struct fixed_records {
  texts records = {};
  std::string content = {};
  leat::fixed_length_reader_options options = {};

  explicit fixed_records(std::size_t count) {
    options.record_size = 10;
    for (std::size_t i = 0; i < count; ++i) {
      records.push_back("<" + std::to_string(10'000'000 + i) + ">");
      content += records.back();
    }
  }
};

constexpr std::size_t depths[] = {1, 4};

template <class Reader, class Options>
void check_reader(const std::string& content, const texts& expected, Options options) {
  for (const bool direct : {false, true}) {
    for (const std::size_t depth : depths) {
      options.read.chunk_size = direct ? 4096 : 1000;
      options.read.depth = depth;
      options.read.direct = direct;
      for (const bool compressed : {false, true}) {
        CAPTURE(direct, depth, compressed);
        check_everywhere({{"a", compressed ? zlib_deflated(content) : content}}, expected,
                         [&](std::string directory, texts& out) {
                           return read_all<Reader>(directory + "/a", options, out);
                         });
      }
    }
  }
}

TEST_CASE("line_reader: after a transient EIO, the next call continues at the same line") {
  const texts lines = some_texts(300);
  check_reader<leat::line_reader>(leat_test::joined(lines), lines, leat::line_reader_options());
}

TEST_CASE("tfrecord_reader: after a transient EIO, the next call continues at the same record") {
  const texts records = some_texts(300);
  check_reader<leat::tfrecord_reader>(framed(records), records, leat::tfrecord_reader_options());
}

TEST_CASE("tfrecord_reader: EIO while skipping corruption loses no intact record") {
  const texts records = some_texts(200);
  std::string content = framed(records);
  content[content.size() / 2] ^= 1;
  leat::tfrecord_reader_options options;
  options.corruption.policy = leat::corruption_policy::resync;
  options.read.chunk_size = 1000;
  options.read.depth = 2;
  texts expected;
  {
    world w(7);
    w.files().write_file("/data", content);
    w.run([&](world&) -> task<> {
      static_cast<void>(co_await read_all<leat::tfrecord_reader>("/data", options, expected));
    });
  }
  REQUIRE(expected.size() == records.size() - 1);
  check_everywhere({{"a", content}}, expected, [&](std::string directory, texts& out) {
    return read_all<leat::tfrecord_reader>(directory + "/a", options, out);
  });
}

TEST_CASE(
    "fixed_length_reader: after a transient EIO, the next call continues at the same record") {
  const fixed_records all(1000);
  check_reader<leat::fixed_length_reader>(all.content, all.records, all.options);
}

TEST_CASE("whole_file_reader: after a transient EIO, the next call reads the file") {
  std::string content;
  for (const std::string& t : some_texts(300)) content += t;
  check_reader<leat::whole_file_reader>(content, {content}, leat::whole_file_reader_options());
}

// ------------------------------------------------------------------------------- file_prefetcher

leat_test::file_contents files_of(const texts& contents) {
  leat_test::file_contents files;
  for (std::size_t i = 0; i < contents.size(); ++i) files[std::to_string(i)] = contents[i];
  return files;
}

// A file with EIO is read again by the next call, or after it is added once more.
task<std::size_t> read_whole_files(std::string directory, std::size_t count,
                                   leat::file_prefetcher_options options, texts& out) {
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < count; ++i) paths.push_back(directory + "/" + std::to_string(i));
  leat::file_prefetcher files(std::move(paths), options);
  leat::loaded_file file;
  const std::size_t errors = co_await repeat_after_errors([&]() -> task<bool> {
    if (file.error()) files.add(file.path());  // the last call failed
    const bool more = co_await files.next(file);
    if (more) out.emplace_back(leat::as_text(file.contents()));
    co_return more;
  });
  if (!options.stop_on_first_error) std::ranges::sort(out);
  co_return errors;
}

TEST_CASE("file_prefetcher: after a transient EIO, a file is read again") {
  // Empty, small, with an allocation of its own, and in several pieces.
  const texts contents = {
      "", "1", std::string(3000, '2'), std::string(200'000, '3'), std::string(1'200'000, '4'), "5"};
  for (const bool in_order : {false, true}) {
    for (const bool direct : {false, true}) {
      for (const std::size_t depth : depths) {
        CAPTURE(in_order, direct, depth);
        const leat::file_prefetcher_options options{
            .depth = depth, .stop_on_first_error = in_order, .direct = direct};
        check_everywhere(files_of(contents), contents, [&](std::string directory, texts& out) {
          return read_whole_files(std::move(directory), contents.size(), options, out);
        });
      }
    }
  }
}

// ------------------------------------------------------------------------- records by index

TEST_CASE("tfrecord_file: after a transient EIO, the same read succeeds") {
  const texts records = some_texts(100);
  const auto read = [&](std::string directory, texts& out) -> task<std::size_t> {
    std::unique_ptr<leat::tfrecord_file> file;
    leat::record_selection selection;
    co_return co_await repeat_after_errors([&]() -> task<bool> {
      if (!file) file = co_await leat::tfrecord_file::open(directory + "/a");
      const std::size_t left = records.size() - out.size();
      co_await file->read_range(out.size(), std::min<std::size_t>(30, left), selection);
      for (const leat::byte_view r : selection) out.emplace_back(leat::as_text(r));
      co_return out.size() < records.size();
    });
  };
  check_everywhere({{"a", framed(records)}}, records, read);
}

task<std::size_t> read_indexed(std::string directory, texts& out) {
  std::unique_ptr<leat::indexed_reader> reader;
  leat::record_selection batch;
  leat::indexed_reader_options options;
  options.num_epochs = 1;
  options.shuffle = false;
  options.batch_size = 16;
  options.file.depth = 4;
  co_return co_await repeat_after_errors([&]() -> task<bool> {
    if (!reader) {
      std::vector<std::string> paths = {directory + "/a", directory + "/b"};
      reader = co_await leat::indexed_reader::open(std::move(paths), options);
    }
    const bool more = co_await reader->read_batch(batch);
    for (const leat::byte_view r : batch) out.emplace_back(leat::as_text(r));
    co_return more;
  });
}

TEST_CASE("indexed_reader: after a transient EIO, the next call continues at the same record") {
  const texts records = some_texts(100);
  const auto half = records.begin() + 50;
  check_everywhere({{"a", framed({records.begin(), half})}, {"b", framed({half, records.end()})}},
                   records, read_indexed);
}

// --------------------------------------------------------------------- filename_queue_reader

// A loop that logs errors and continues, with one record or several per call.
template <class Reader>
task<std::size_t> read_from_queue(std::string path, typename Reader::options_type options,
                                  std::size_t at_a_time, texts& out) {
  leat::fifo_queue<std::string> names(4, "names");
  static_cast<void>(names.try_push(path));
  static_cast<void>(names.try_push(path));
  names.close();
  options.read.chunk_size = 1000;
  leat::filename_queue_reader<Reader> reader(names, options);
  co_return co_await repeat_after_errors([&]() -> task<bool> {
    auto records = co_await reader.read_up_to(at_a_time);
    if (!records) co_return false;
    for (leat::keyed_record& r : *records) out.push_back(std::move(r.value));
    co_return true;
  });
}

template <class Reader>
void check_queue_reader(const std::string& content, const texts& expected,
                        typename Reader::options_type options = {}) {
  texts twice = expected;
  twice.insert(twice.end(), expected.begin(), expected.end());
  for (const std::size_t at_a_time : {std::size_t{1}, std::size_t{7}, std::size_t{1000}}) {
    for (const bool compressed : {false, true}) {
      CAPTURE(at_a_time, compressed);
      check_everywhere({{"a", compressed ? zlib_deflated(content) : content}}, twice,
                       [&](std::string directory, texts& out) {
                         return read_from_queue<Reader>(directory + "/a", options, at_a_time, out);
                       });
    }
  }
}

TEST_CASE("filename_queue_reader: a loop that logs EIO and continues reads every record once") {
  const texts some = some_texts(100);
  check_queue_reader<leat::line_reader>(leat_test::joined(some), some);
  check_queue_reader<leat::tfrecord_reader>(framed(some), some);
  const fixed_records fixed(300);
  check_queue_reader<leat::fixed_length_reader>(fixed.content, fixed.records, fixed.options);
  const std::string whole = leat_test::joined(some);
  check_queue_reader<leat::whole_file_reader>(whole, {whole});
}

TEST_CASE("filename_queue_reader: a loop that logs a repeating error and continues does not spin") {
  world w(7);
  std::string content = framed(some_texts(10));
  content[20] ^= 1;
  w.files().write_file("/data", content);
  w.run([](world& here) -> task<> {
    leat::fifo_queue<std::string> names(1, "names");
    static_cast<void>(names.try_push("/data"));
    names.close();
    leat::filename_queue_reader<leat::tfrecord_reader> reader(names);
    const leat::time_point begin = here.now();
    for (int i = 0; i < 30; ++i) {
      const bool failed = co_await code_of(reader.read()) == errc::data_loss;
      if (failed) continue;
      --i;  // records before the corrupt one do not count
    }
    CHECK(here.now() - begin > std::chrono::seconds(15));
  });
}

// ------------------------------------------------------------------------------------ events

task<std::size_t> read_loss(std::string directory, texts& out) {
  return repeat_after_errors([directory = std::move(directory), &out]() -> task<bool> {
    const leat::event_run run = co_await leat::read_events(directory);
    for (const leat::scalar_point& p : run.series.scalars.at("loss")) {
      out.push_back(std::to_string(p.step) + ":" + std::to_string(p.value));
    }
    co_return false;
  });
}

TEST_CASE("read_events: after a transient EIO, the next call returns every value once") {
  texts expected;
  leat_test::file_contents plain;
  leat_test::file_contents compressed;
  for (std::int64_t file = 0; file < 2; ++file) {
    texts events;
    for (std::int64_t step = 100 * file; step < 100 * file + 100; ++step) {
      leat::event_record e;
      e.step = step;
      e.what = leat::summary().add_scalar("loss", static_cast<float>(step));
      events.push_back(e.to_bytes());
      expected.push_back(std::to_string(step) + ":" + std::to_string(static_cast<float>(step)));
    }
    const std::string name = "events.out.tfevents." + std::to_string(file);
    plain[name] = framed(events);
    compressed[name] = zlib_deflated(plain[name]);
  }
  check_everywhere(plain, expected, read_loss);
  check_everywhere(compressed, expected, read_loss);
}

}  // namespace transient_read_error_test
