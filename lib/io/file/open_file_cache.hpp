#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include <sys/vfs.h>

#include "leat/async/task.hpp"
#include "leat/io/file/file.hpp"

namespace leat::detail {

/// A file, and how it was when it was opened at first.
struct file_at_open {
  std::shared_ptr<const std::string> path;
  file_status then;
};

/// The same file as before, and not written since. Of two times in one run of a process: a copy or
/// another machine has other inodes.
[[nodiscard]] bool is_unchanged(const file_status& then, const file_status& now) noexcept;

/// False: a file may have another inode there once it has been closed. FUSE and SMB number files as
/// they are looked up.
[[nodiscard]] bool has_stable_inodes(const struct statfs& file_system) noexcept;

/// True for a negative errno that says that there are no more descriptors.
[[nodiscard]] bool is_short_of_descriptors(std::int64_t result) noexcept;

/// Closes a file that is only read, here and now; its handle stays, without a number.
void close_temporarily(file_handle& handle) noexcept;

/// Files to read, of which a limited number is open at a time. The least recently used files are
/// closed, and opened again when they are read. A file that has a different size or time by then,
/// or is another file, is rejected.
///
/// Thread safety: thread-bound to the scheduler of the files.
class open_file_cache {
 public:
  /// Of files that are open or closed for now. Errors: std::bad_alloc.
  open_file_cache(std::vector<std::shared_ptr<file_handle>> handles,
                  std::vector<file_at_open> known, std::size_t most);
  open_file_cache(const open_file_cache&) = delete;
  open_file_cache& operator=(const open_file_cache&) = delete;

  [[nodiscard]] std::span<const std::shared_ptr<file_handle>> handles() const noexcept {
    return handles_;
  }
  [[nodiscard]] bool is_open(std::size_t n) const noexcept { return handles_[n]->number >= 0; }

  /// Opens a file that is closed where that needs no waiting: true when it is open.
  [[nodiscard]] bool try_open(std::size_t n) noexcept;

  /// Opens a file that is closed; another one more where all others are in use. 0, or a negative
  /// errno: -ESTALE for a file that is not as it was.
  [[nodiscard]] task<std::int64_t> open(std::size_t n, std::source_location where);

  /// A pinned file stays open.
  void pin(std::size_t n) noexcept {
    ++states_[n].pins;
    states_[n].used_lately = true;
  }
  void unpin(std::size_t n) noexcept { --states_[n].pins; }

  // For who submits a request of its own to open one: first begin_open(), and once it has been
  // completed end_open(), which gives what open() does.
  [[nodiscard]] bool is_opening(std::size_t n) const noexcept { return states_[n].opening; }
  void begin_open(std::size_t n, file_request& request) noexcept;
  [[nodiscard]] std::int64_t end_open(std::size_t n, std::int64_t result) noexcept;

  /// Closes files until one more may be opened. Returns false if all are in use.
  [[nodiscard]] bool free_slot() noexcept;

  /// Closes a file, even below the limit. Returns false if all are in use.
  [[nodiscard]] bool close_one() noexcept;

  /// Closes the files that were opened beyond the limit while all others were in use.
  void enforce_limit() noexcept;

 private:
  struct state {
    unsigned pins = 0;
    bool used_lately = false;
    bool opening = false;
    file_status found = {};
  };

  void prepare_open(std::size_t n, file_request& request, file_status& found) const noexcept;
  [[nodiscard]] bool is_same_file(std::size_t n, const file_handle& opened,
                                  const file_status& found) const noexcept;
  [[nodiscard]] std::int64_t adopt(std::size_t n, std::int64_t result,
                                   const file_status& found) noexcept;

  const std::vector<std::shared_ptr<file_handle>> handles_;
  const std::vector<file_at_open> files_at_open_;
  const std::size_t max_open_;
  std::vector<state> states_;
  std::vector<std::size_t> open_;  // has room for all
  std::size_t opening_ = 0;
  std::size_t clock_hand_ =
      0;  // in open_: goes round, and closes what was not used since it was there
};

}  // namespace leat::detail
