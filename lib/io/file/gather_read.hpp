#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>
#include <vector>

#include "leat/async/wait_operation.hpp"
#include "leat/io/file/file.hpp"

namespace LEAT::detail {

class open_file_cache;

/// A range of a file, and its destination in memory.
struct file_range {
  file_handle* from = nullptr;
  std::size_t file = 0;  // index of the file, if there are several
  std::uint64_t offset = 0;
  std::size_t size = 0;
  std::byte* to = nullptr;
};

/// The result of a gather_read.
struct gather_result {
  std::int64_t error = 0;  // negative errno, or 0
  std::size_t range = 0;   // index of the range that failed
};

/// Reads ranges of a file through the backend, at most `depth` of them concurrently, and waits for
/// all.
///
/// After an error no further range is started. A range that extends past the end of the file fails
/// with -ENODATA.
///
/// Cancellation: no further range is started, and those in flight are awaited; fails with
/// -ECANCELED.
/// Thread safety: thread-bound.
class [[nodiscard]] gather_read final : public wait_operation {
 public:
  /// Errors: std::bad_alloc.
  gather_read(file& f, std::span<const file_range> ranges, std::size_t depth,
              const std::source_location& where);
  ~gather_read();

  bool await_ready() noexcept;
  bool await_suspend(std::coroutine_handle<> h);
  [[nodiscard]] gather_result await_resume() const noexcept { return result_; }

 private:
  struct slot : file_request {
    gather_read* owner = nullptr;
    std::size_t range = 0;
  };

  bool begin_next(slot& s) noexcept;
  void submit(slot& s) noexcept;
  void complete(slot& s) noexcept;
  void fail(std::size_t range, std::int64_t error) noexcept;
  [[nodiscard]] bool may_begin() const noexcept {
    return next_ < ranges_.size() && result_.error == 0;
  }

  static void cancel(wait_operation& w) noexcept;
  static void describe(const wait_operation& w, std::ostream& out);
  static const kind gather_read_kind;

  file& file_;
  const file_handle::operation_guard in_use_;
  const std::span<const file_range> ranges_;
  std::vector<slot> slots_;
  std::size_t next_ = 0;
  std::size_t under_way_ = 0;
  gather_result result_;
};

/// The part of a sequence of ranges that was read without waiting.
struct cached_ranges {
  std::size_t count = 0;  // from the front
  bool missed = false;    // the next one needs waiting, or has an error
};

/// Reads the first ranges that do not have to wait for a device, at most about 1 MiB in all. Their
/// files must be open, unless `files` is given, which opens them as needed.
[[nodiscard]] cached_ranges gather_cached(std::span<const file_range> ranges,
                                          open_file_cache* files = nullptr) noexcept;

}  // namespace LEAT::detail
