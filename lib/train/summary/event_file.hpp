#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/base/bytes.hpp"
#include "leat/base/clock.hpp"
#include "leat/io/file/file.hpp"

namespace leat::detail {

/// How the files of a writer are called.
struct event_file_names {
  std::string directory;
  std::string host;
  int process = 0;
  std::string suffix;

  /// "directory/events.out.tfevents.0000000012.host.345.0suffix"
  [[nodiscard]] std::string path(std::int64_t seconds, unsigned number) const;
};

/// Events on their way to a file of their own, which is made when the first ones are written.
///
/// After an error nothing is lost: what the file has not taken is kept for the next write().
/// Thread safety: thread-bound.
class event_file {
 public:
  explicit event_file(event_file_names names) : names_(std::move(names)) {}

  /// Takes a serialized event. Errors: std::bad_alloc; then it was not taken.
  void append(byte_view event);
  /// Bytes that wait to be written.
  [[nodiscard]] std::size_t pending_size() const noexcept { return pending_.size(); }
  /// True: a file is begun, and not closed.
  [[nodiscard]] bool is_open() const noexcept { return file_.is_open(); }

  /// Writes what is waiting; `durable`, to the device. Makes the file if there is something. A file
  /// whose first record cannot be written is removed again; the next write() makes another.
  /// Errors: unknown when somebody has removed the file; of the system.
  [[nodiscard]] task<void> write(wall_time_point now, bool durable);

  /// Closes the file; the next write() begins another one. Errors: of the system.
  [[nodiscard]] task<void> close();

  /// Leaves the file as it is; what was not written goes to the next one.
  void abandon() noexcept;

  /// Of the file that was made last; empty if that one was removed again.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  [[nodiscard]] task<void> create(wall_time_point now);
  [[nodiscard]] task<void> check_exists() const;
  [[nodiscard]] task<void> put(std::vector<std::byte>& bytes);
  [[nodiscard]] task<void> discard();

  const event_file_names names_;
  std::int64_t last_second_ = 0;  // of the file before
  file file_;
  std::string path_;
  std::vector<std::byte> version_;  // what the file begins with, until it is written
  std::vector<std::byte> pending_;
  std::uint64_t size_ = 0;  // of the file
  bool name_is_durable_ = false;
};

}  // namespace leat::detail
