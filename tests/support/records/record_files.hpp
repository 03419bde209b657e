#pragma once

#include <string>
#include <utility>
#include <vector>

#include "leat/async/sleep.hpp"
#include "leat/async/task.hpp"
#include "leat/async/task_group.hpp"
#include "leat/base/bytes.hpp"
#include "leat/base/clock.hpp"
#include "leat/io/reader/line_reader.hpp"
#include "leat/io/reader/tfrecord_reader.hpp"
#include "leat/io/writer/tfrecord_writer.hpp"

namespace leat_test {

// Whole files as lists of texts. A function that appends to `out` leaves the records there that it
// read before an error or stop.

using texts = std::vector<std::string>;

/// Returns the contents of a file with these lines.
inline std::string joined(const texts& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

inline leat::task<> read_lines_into(texts& out, std::string path,
                                    leat::line_reader_options options = {}) {
  auto reader = co_await leat::line_reader::open(std::move(path), options);
  leat::line_batch batch;
  while (co_await reader->read_batch(batch)) out.insert(out.end(), batch.begin(), batch.end());
}

/// Reads lines until a stop, which is requested after a time, and returns them.
inline leat::task<texts> read_lines_until_stop(std::string path, leat::duration time) {
  leat::task_group group;
  texts lines;
  group.spawn(read_lines_into(lines, std::move(path)));
  co_await leat::sleep_for(time);
  group.request_stop();
  co_await group.join();
  co_return lines;
}

inline leat::task<> read_records_into(texts& out, std::string path,
                                      leat::tfrecord_reader_options options = {}) {
  auto reader = co_await leat::tfrecord_reader::open(std::move(path), options);
  leat::record_batch batch;
  while (co_await reader->read_batch(batch)) {
    for (const leat::byte_view r : batch) out.emplace_back(leat::as_text(r));
  }
}

inline leat::task<texts> read_lines(std::string path, leat::line_reader_options options = {}) {
  texts all;
  co_await read_lines_into(all, std::move(path), options);
  co_return all;
}

inline leat::task<texts> read_records(std::string path,
                                      leat::tfrecord_reader_options options = {}) {
  texts all;
  co_await read_records_into(all, std::move(path), options);
  co_return all;
}

inline leat::task<> write_records(std::string path, texts records, std::size_t buffer_size) {
  auto writer = co_await leat::tfrecord_writer::open(std::move(path), {.buffer_size = buffer_size});
  for (const std::string& r : records) co_await writer.write(leat::as_bytes(r));
  co_await writer.close();
}

}  // namespace leat_test
