#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>
#include <vector>

#include "leat/async/wait_operation.hpp"
#include "leat/io/file/file.hpp"

namespace leat::detail {

class open_file_cache;

/// A piece of a file, and where in memory it goes.
struct file_range {
  file_handle* from = nullptr;
  std::size_t file = 0;  // of several, which
  std::uint64_t offset = 0;
  std::size_t size = 0;
  std::byte* to = nullptr;
};

/// How a gather ended.
struct gather_result {
  std::int64_t error = 0;  // negative errno, or 0
  std::size_t range = 0;   // that it befell
};

/// Reads pieces of a file through the backend, at most `depth` of them at a time, and awaits all.
///
/// After an error no further piece is begun. A piece that the file ends before is -ENODATA.
///
/// Cancellation: no further piece is begun, and those under way are awaited: -ECANCELED.
/// Thread safety: thread-bound.
class [[nodiscard]] gather_read final : public wait_operation {
 public:
  /// Errors: std::bad_alloc.
  gather_read(file& f, std::span<const file_range> ranges, std::size_t depth,
              const std::source_location& where);
  ~gather_read();

  bool await_ready() noexcept;
  bool await_suspend(std::coroutine_handle<> h) noexcept;
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

/// What was read of a run of pieces without waiting.
struct cached_ranges {
  std::size_t count = 0;  // from the front
  bool missed = false;    // the next one needs waiting, or has an error
};

/// Reads pieces that need no waiting for a device, from the front, at most about 1 MiB of them. Of
/// files that are open, or of `files`, where they are opened as that is needed.
[[nodiscard]] cached_ranges gather_cached(std::span<const file_range> ranges,
                                          open_file_cache* files = nullptr) noexcept;

}  // namespace leat::detail
