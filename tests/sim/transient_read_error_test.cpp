// EIO at every single operation of a reader in turn: the next call continues at the same record.

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "leat/core/error.hpp"
#include "leat/core/scheduler.hpp"
#include "leat/core/sync_wait.hpp"
#include "leat/core/this_task.hpp"
#include "leat/io/file_backend.hpp"
#include "leat/io/fixed_length_reader.hpp"
#include "leat/io/indexed_reader.hpp"
#include "leat/io/line_reader.hpp"
#include "leat/io/tfrecord_file.hpp"
#include "leat/io/tfrecord_reader.hpp"
#include "leat/io/tfrecord_writer.hpp"
#include "leat/io/whole_file_reader.hpp"
#include "leat/pipeline/queue_reader.hpp"
#include "leat/sim/world.hpp"
#include "leat/sync/fifo_queue.hpp"
#include "support/record_files.hpp"
#include "support/temp_dir.hpp"
#include "support/zlib_oracle.hpp"

namespace transient_read_error_test {

using leat::task;
using leat::sim::fault;
using leat::sim::planned_fault;
using leat::sim::world;
using leat_test::texts;

constexpr std::size_t most_errors = 20;  // one is planned: more mean that it repeats

bool is_transient(const std::system_error& e) { return e.code() == std::errc::io_error; }

// Reads a whole file into `out`, and calls again after each EIO. Gives the number of these.
template <class Reader>
task<std::size_t> read_all(std::string path, typename Reader::options_type options, texts& out) {
  std::size_t errors = 0;
  std::unique_ptr<Reader> reader;
  typename Reader::batch_type batch;
  for (bool more = true; more && errors < most_errors;) {
    try {
      if (!reader) reader = co_await Reader::open(path, options);
      more = co_await reader->read_batch(batch);
      for (const auto record : batch) {
        out.emplace_back(reinterpret_cast<const char*>(record.data()), record.size());
      }
    } catch (const std::system_error& e) {
      if (!is_transient(e)) throw;
      ++errors;
    }
  }
  co_return errors;
}

using body = std::function<task<std::size_t>(texts&)>;

// Runs `read` with EIO at the n-th operation, for every n.
void check_every_operation(const std::string& content, const texts& expected, const body& read) {
  std::size_t befallen = 0;
  for (std::uint64_t n = 1;; ++n) {
    CAPTURE(n);
    world w(7, {.files = {.plan = planned_fault{n, fault::io_error}}});
    w.files().write_file("/data", content);
    texts got;
    std::size_t errors = 0;
    w.run([&](world&) -> task<> { errors = co_await read(got); });
    REQUIRE((got == expected));
    REQUIRE(errors <= 1);
    befallen += errors;
    if (w.files().calls() < n) break;
  }
  CHECK(befallen >= 2);
}

texts some_texts(std::size_t count) {
  texts all;
  for (std::size_t i = 0; i < count; ++i)
    all.push_back(std::to_string(i) + std::string(i % 90, 'x'));
  return all;
}

std::string tfrecords(const texts& all) {
  std::vector<std::byte> bytes;
  for (const std::string& t : all) leat::append_tfrecord(bytes, leat::as_bytes(t));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

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
        const std::string bytes = compressed ? leat_test::zlib_deflated(content) : content;
        check_every_operation(bytes, expected,
                              [&](texts& out) { return read_all<Reader>("/data", options, out); });
      }
    }
  }
}

TEST_CASE("line_reader: after a transient EIO, the next call continues at the same line", "[sim]") {
  const texts lines = some_texts(300);
  check_reader<leat::line_reader>(leat_test::joined(lines), lines, leat::line_reader_options());
}

TEST_CASE("tfrecord_reader: after a transient EIO, the next call continues at the same record",
          "[sim]") {
  const texts records = some_texts(300);
  check_reader<leat::tfrecord_reader>(tfrecords(records), records, leat::tfrecord_reader_options());
}

TEST_CASE("tfrecord_reader: EIO while it skips corruption loses no intact record", "[sim]") {
  const texts records = some_texts(200);
  std::string content = tfrecords(records);
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
  check_every_operation(content, expected, [&](texts& out) {
    return read_all<leat::tfrecord_reader>("/data", options, out);
  });
}

TEST_CASE("fixed_length_reader: after a transient EIO, the next call continues at the same record",
          "[sim]") {
  std::string content;
  texts records;
  for (std::size_t i = 0; i < 1000; ++i) {
    records.push_back("<" + std::to_string(10'000'000 + i) + ">");
    content += records.back();
  }
  leat::fixed_length_reader_options options;
  options.record_size = 10;
  check_reader<leat::fixed_length_reader>(content, records, options);
}

TEST_CASE("whole_file_reader: after a transient EIO, the next call reads the file", "[sim]") {
  std::string content;
  for (const std::string& t : some_texts(300)) content += t;
  check_reader<leat::whole_file_reader>(content, {content}, leat::whole_file_reader_options());
}

TEST_CASE("tfrecord_file: after a transient EIO, the same read succeeds", "[sim]") {
  const texts records = some_texts(100);
  check_every_operation(tfrecords(records), records, [&](texts& out) -> task<std::size_t> {
    std::size_t errors = 0;
    std::unique_ptr<leat::tfrecord_file> file;
    leat::record_selection selection;
    while (out.size() < records.size() && errors < most_errors) {
      try {
        if (!file) file = co_await leat::tfrecord_file::open("/data");
        co_await file->read_range(
            out.size(), std::min<std::size_t>(30, records.size() - out.size()), selection);
        for (const leat::byte_view r : selection) out.emplace_back(leat::as_text(r));
      } catch (const std::system_error& e) {
        if (!is_transient(e)) throw;
        ++errors;
      }
    }
    co_return errors;
  });
}

TEST_CASE("indexed_reader: after a transient EIO, the next call continues at the same record",
          "[sim]") {
  const texts records = some_texts(100);
  check_every_operation(tfrecords(records), records, [](texts& out) -> task<std::size_t> {
    std::size_t errors = 0;
    std::unique_ptr<leat::indexed_reader> reader;
    leat::record_selection batch;
    leat::indexed_reader_options options;
    options.num_epochs = 1;
    options.shuffle = false;
    options.batch_size = 16;
    options.file.depth = 4;
    for (bool more = true; more && errors < most_errors;) {
      try {
        if (!reader) {
          std::vector<std::string> paths(1, "/data");
          reader = co_await leat::indexed_reader::open(std::move(paths), options);
        }
        more = co_await reader->read_batch(batch);
        for (const leat::byte_view r : batch) out.emplace_back(leat::as_text(r));
      } catch (const std::system_error& e) {
        if (!is_transient(e)) throw;
        ++errors;
      }
    }
    co_return errors;
  });
}

// A loop that logs errors and continues, one record or several a call.
task<std::size_t> read_from_queue(texts& out, std::size_t at_a_time) {
  leat::fifo_queue<std::string> names(4, "names");
  static_cast<void>(names.try_push("/data"));
  static_cast<void>(names.try_push("/data"));
  names.close();
  leat::line_reader_options options;
  options.read.chunk_size = 1000;
  leat::queue_reader<leat::line_reader> reader(names, options);
  std::size_t errors = 0;
  for (bool more = true; more && errors < most_errors;) {
    try {
      auto records = co_await reader.read_up_to(at_a_time);
      more = records.has_value();
      if (!more) break;
      for (leat::keyed_record& r : *records) out.push_back(std::move(r.value));
    } catch (const std::system_error& e) {
      if (!is_transient(e)) throw;
      ++errors;
    }
  }
  co_return errors;
}

TEST_CASE("queue_reader: a loop that logs EIO and continues reads every record once", "[sim]") {
  const texts lines = some_texts(100);
  texts twice = lines;
  twice.insert(twice.end(), lines.begin(), lines.end());
  for (const std::size_t at_a_time : {std::size_t{1}, std::size_t{7}, std::size_t{1000}}) {
    check_every_operation(leat_test::joined(lines), twice,
                          [&](texts& out) { return read_from_queue(out, at_a_time); });
  }
}

TEST_CASE("queue_reader: a loop that logs a repeating error and continues does not spin", "[sim]") {
  world w(7);
  std::string content = tfrecords(some_texts(10));
  content[20] ^= 1;
  w.files().write_file("/data", content);
  w.run([](world& here) -> task<> {
    leat::fifo_queue<std::string> names(1, "names");
    static_cast<void>(names.try_push("/data"));
    names.close();
    leat::queue_reader<leat::tfrecord_reader> reader(names);
    const leat::time_point begin = here.now();
    for (int i = 0; i < 30; ++i) {
      bool failed = false;
      try {
        static_cast<void>(co_await reader.read());
      } catch (const leat::failure& e) {
        failed = e.code() == leat::errc::data_loss;
      }
      if (failed) continue;
      --i;  // the records before the corrupt one
    }
    CHECK(here.now() - begin > std::chrono::seconds(15));
  });
}

// ------------------------------------------------------------------------------- real backends

// A real backend whose n-th read fails with EIO; no read is answered at once.
class failing_backend final : public leat::file_backend {
 public:
  failing_backend(leat::file_backend& real, std::uint64_t n) : real_(real), fails_(n) {}

  [[nodiscard]] std::uint64_t reads() const noexcept { return reads_; }

  [[nodiscard]] std::string_view name() const noexcept override { return real_.name(); }
  void submit(leat::file_request& r) noexcept override {
    if (r.what == leat::file_request::operation::read && ++reads_ == fails_) {
      r.result = -EIO;
      r.home->post(r);
    } else {
      real_.submit(r);
    }
  }
  bool try_now(leat::file_request& r) noexcept override {
    return r.what != leat::file_request::operation::read && real_.try_now(r);
  }
  void cancel(leat::file_request& r) noexcept override { real_.cancel(r); }
  void run_now(leat::file_request& r) noexcept override { real_.run_now(r); }
  int set_direct(int handle, bool direct) noexcept override {
    return real_.set_direct(handle, direct);
  }

 private:
  leat::file_backend& real_;
  const std::uint64_t fails_;
  std::uint64_t reads_ = 0;
};

struct outcome {
  texts lines;
  std::size_t errors = 0;
  std::uint64_t reads = 0;
};

task<outcome> read_with_fault(std::string path, leat::file_backend_choice choice, std::uint64_t n) {
  leat::scheduler& home = co_await leat::this_task::get_scheduler();
  leat::file_backend& real = leat::get_file_backend(home, choice);
  failing_backend failing(real, n);
  home.set_files(&failing);
  leat::line_reader_options options;
  options.read.chunk_size = 200;
  outcome o;
  o.errors = co_await read_all<leat::line_reader>(path, options, o.lines);
  o.reads = failing.reads();
  home.set_files(&real);
  co_return o;
}

void check_real_backend(leat::file_backend_choice choice) {
  const temp_dir dir;
  const texts lines = some_texts(200);
  const std::string plain = leat_test::joined(lines);
  for (const std::string& content : {plain, leat_test::zlib_deflated(plain)}) {
    const std::string path = dir.write("a", content);
    std::size_t befallen = 0;
    for (std::uint64_t n = 1;; ++n) {
      CAPTURE(n);
      const outcome o = leat::sync_wait(read_with_fault(path, choice, n));
      REQUIRE((o.lines == lines));
      REQUIRE(o.errors <= 1);
      befallen += o.errors;
      if (o.reads < n) break;
    }
    CHECK(befallen >= 2);
  }
}

TEST_CASE("line_reader: continues after a transient EIO of worker threads", "[sim]") {
  check_real_backend(leat::file_backend_choice::threads);
}

TEST_CASE("line_reader: continues after a transient EIO of io_uring", "[sim]") {
  try {
    check_real_backend(leat::file_backend_choice::io_uring);
  } catch (const leat::failure& e) {
    if (e.code() != leat::errc::unavailable) throw;
    WARN("io_uring is unavailable here");
  }
}

}  // namespace transient_read_error_test
