#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/base/bytes.hpp"
#include "leat/base/clock.hpp"
#include "leat/io/file/file.hpp"

namespace LEAT::detail {

/// The names of a writer's files.
struct event_file_names {
  std::string directory;
  std::string host;
  int process = 0;
  std::string suffix;

  /// "directory/events.out.tfevents.0000000012.host.345.0suffix"
  [[nodiscard]] std::string path(std::int64_t seconds, unsigned number) const;
};

/// Events that wait for a file, which is created when the first ones are written.
///
/// After an error nothing is lost: bytes that were not written are kept for the next write().
/// Thread safety: thread-bound.
class event_file {
 public:
  explicit event_file(event_file_names names) : names_(std::move(names)) {}

  /// Adds a serialized event. Errors: std::bad_alloc, without a change.
  void append(byte_view event);
  /// Returns the number of bytes that wait to be written.
  [[nodiscard]] std::size_t pending_size() const noexcept { return pending_.size(); }
  /// Returns true if a file was begun and not closed.
  [[nodiscard]] bool is_open() const noexcept { return file_.is_open(); }

  /// Writes the waiting bytes, and syncs them if `durable`. Creates the file if there are any. If
  /// the first record cannot be written, removes the file; the next write() creates another.
  /// Errors: unknown if the file was removed; system errors.
  [[nodiscard]] task<void> write(wall_time_point now, bool durable);

  /// Closes the file; the next write() begins another one. Errors: system errors.
  [[nodiscard]] task<void> close();

  /// Leaves the file as it is; bytes that were not written go to the next one.
  void abandon() noexcept;

  /// The path of the last file; empty if it was removed again.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  [[nodiscard]] task<void> create(wall_time_point now);
  [[nodiscard]] task<void> check_exists() const;
  [[nodiscard]] task<void> put(std::vector<std::byte>& bytes);
  [[nodiscard]] task<void> discard();

  const event_file_names names_;
  std::int64_t last_second_ = 0;  // of the previous file
  file file_;
  std::string path_;
  std::vector<std::byte> version_;  // the first record of the file, until it is written
  std::vector<std::byte> pending_;
  std::uint64_t size_ = 0;  // of the file
  bool name_is_durable_ = false;
};

}  // namespace LEAT::detail
