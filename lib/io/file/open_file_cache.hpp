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

namespace LEAT::detail {

/// A file, and its state when it was first opened.
struct file_at_open {
  std::shared_ptr<const std::string> path;
  file_status then;
};

/// Returns true if the file is the same and was not written. Compares two moments of one process: a
/// copy or another machine has other inodes.
[[nodiscard]] bool is_unchanged(const file_status& then, const file_status& now) noexcept;

/// Returns false if a file may have another inode after it was closed. FUSE and SMB number files on
/// lookup.
[[nodiscard]] bool has_stable_inodes(const struct statfs& file_system) noexcept;

/// Returns true for a negative errno that means a lack of descriptors.
[[nodiscard]] bool is_short_of_descriptors(std::int64_t result) noexcept;

/// Closes a file that is only read, without waiting; its handle stays, without a number.
void close_temporarily(file_handle& handle) noexcept;

/// Files to read, of which a limited number is open at a time. The least recently used files are
/// closed, and opened again when they are read. A file that has a different size or time by then,
/// or is another file, is rejected.
///
/// Thread safety: thread-bound to the scheduler of the files.
class open_file_cache {
 public:
  /// For files that are open or temporarily closed. Errors: std::bad_alloc.
  open_file_cache(std::vector<std::shared_ptr<file_handle>> handles,
                  std::vector<file_at_open> known, std::size_t most);
  open_file_cache(const open_file_cache&) = delete;
  open_file_cache& operator=(const open_file_cache&) = delete;

  [[nodiscard]] std::span<const std::shared_ptr<file_handle>> handles() const noexcept {
    return handles_;
  }
  [[nodiscard]] bool is_open(std::size_t n) const noexcept { return handles_[n]->number >= 0; }

  /// Opens a closed file if that needs no waiting. Returns true if the file is open.
  [[nodiscard]] bool try_open(std::size_t n) noexcept;

  /// Opens a closed file, beyond the limit if all others are in use. Returns 0, or a negative
  /// errno: -ESTALE for a file that has changed.
  [[nodiscard]] task<std::int64_t> open(std::size_t n, std::source_location where);

  /// A pinned file stays open.
  void pin(std::size_t n) noexcept {
    ++states_[n].pins;
    states_[n].used_lately = true;
  }
  void unpin(std::size_t n) noexcept { --states_[n].pins; }

  // For callers that submit their own request to open a file: call begin_open(), and after its
  // completion end_open(), which returns the result of open().
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
  std::vector<std::size_t> open_;  // has capacity for all files
  std::size_t opening_ = 0;
  std::size_t clock_hand_ =
      0;  // in open_: position of a cyclic search that closes files not used since the last pass
};

}  // namespace LEAT::detail
