// A job that may be killed at any time. It copies the records of TFRecord files to new files with a
// fixed number of records, and logs every finished file. After a restart it continues after the
// last log entry.
//
//     copy_records IN_DIRECTORY OUT_DIRECTORY RECORDS_PER_FILE

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fcntl.h>
#include <fstream>
#include <optional>
#include <string>
#include <unistd.h>
#include <vector>

#include "leat/async/loop/block_on.hpp"
#include "leat/base/error.hpp"
#include "leat/io/file/match_files.hpp"
#include "leat/io/reader/tfrecord_reader.hpp"
#include "leat/io/writer/tfrecord_writer.hpp"

namespace {

using leat::task;

// The log has a line "NAME RECORDS" for each finished file.
class acknowledgements {
 public:
  explicit acknowledgements(const std::string& path)
      : log_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
    if (log_ < 0) throw leat::failure(std::error_code(errno, std::generic_category()), path);
    std::ifstream in(path);
    std::string name;
    for (std::uint64_t count = 0; in >> name >> count; ++files_) records_ += count;
  }
  acknowledgements(const acknowledgements&) = delete;
  acknowledgements& operator=(const acknowledgements&) = delete;
  ~acknowledgements() { ::close(log_); }

  void add(const std::string& name, std::uint64_t count) {
    const std::string line = name + " " + std::to_string(count) + "\n";
    const bool written = ::write(log_, line.data(), line.size()) == ::ssize_t(line.size());
    if (!written || ::fsync(log_) != 0) {
      throw leat::failure(leat::errc::data_loss, "the log cannot be written");
    }
    ++files_;
    records_ += count;
  }

  [[nodiscard]] std::uint64_t files() const noexcept { return files_; }
  [[nodiscard]] std::uint64_t records() const noexcept { return records_; }

 private:
  int log_;
  std::uint64_t files_ = 0;
  std::uint64_t records_ = 0;
};

// The file that the job is writing.
struct output {
  std::string name;
  leat::tfrecord_writer writer;
};

task<> finish(std::optional<output>& out, acknowledgements& done) {
  co_await out->writer.close();
  done.add(out->name, out->writer.records_written());
  out.reset();
}

task<> copy(std::string from, std::string to, std::uint64_t per_file) {
  // The name shows the temporary files of a killed predecessor, which no process uses any more.
  std::vector<std::string> left_behind(1, to + "/*.partial*");
  for (const std::string& path : co_await leat::match_files(std::move(left_behind))) {
    co_await leat::remove_file(path);
  }
  acknowledgements done(to + "/log");
  std::uint64_t skip = done.records();
  std::optional<output> out;
  std::vector<std::string> inputs(1, from + "/*.tfrecord");
  for (const std::string& path : co_await leat::match_files(std::move(inputs))) {
    auto reader = co_await leat::tfrecord_reader::open(path, {.read = {.chunk_size = 4096}});
    leat::record_batch batch;
    while (co_await reader->read_batch(batch)) {
      for (const leat::byte_view record : batch) {
        if (skip > 0) {
          --skip;
          continue;
        }
        if (!out) {
          std::string name = std::to_string(done.files()) + ".tfrecord";
          auto writer = co_await leat::tfrecord_writer::open(to + "/" + name, {.buffer_size = 512});
          out.emplace(output{std::move(name), std::move(writer)});
        }
        co_await out->writer.write(record);
        if (out->writer.records_written() == per_file) co_await finish(out, done);
      }
    }
  }
  if (out) co_await finish(out, done);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  try {
    leat::block_on(copy(argv[1], argv[2], std::strtoull(argv[3], nullptr, 10)));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "copy_records: %s\n", e.what());
    return 1;
  }
}
