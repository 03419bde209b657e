#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include "io/file/gather_read.hpp"
#include "io/file/open_file_cache.hpp"
#include "leat/base/internal/aligned_bytes.hpp"
#include "leat/io/file/detail/read_wait.hpp"
#include "leat/io/file/file.hpp"

namespace LEAT::detail {

/// Ranges of files that are read into one block of memory. One task may wait for all of them.
struct range_batch : awaited_read {
  std::vector<file_range> ranges;
  aligned_bytes memory;
  std::size_t next = 0;     // range to start
  std::size_t reading = 0;  // ranges in flight
  gather_result result;     // of the first range that failed; then no further one is started

  [[nodiscard]] bool may_begin() const noexcept {
    return next < ranges.size() && result.error == 0;
  }
  [[nodiscard]] bool is_complete() const noexcept { return reading == 0 && !may_begin(); }
  void fail(std::size_t range, std::int64_t error) noexcept {
    if (result.error == 0 || range < result.range) result = {error, range};
  }
};

/// Reads ranges of several files through the backend, batch after batch, `depth` ranges
/// concurrently, whether or not a task waits for them. Opens files that are closed; if all files
/// that may be open are in use, a range waits for one of them.
///
/// Lives as long as reads are in flight, and keeps the files and the batches alive until then.
/// Thread safety: thread-bound to the scheduler of the files.
class batched_reads : public std::enable_shared_from_this<batched_reads> {
 public:
  /// Errors: std::bad_alloc.
  batched_reads(std::shared_ptr<open_file_cache> files, std::size_t depth);
  batched_reads(const batched_reads&) = delete;
  batched_reads& operator=(const batched_reads&) = delete;

  [[nodiscard]] open_file_cache& files() const noexcept { return *files_; }

  /// Ends the process if the current scheduler is not the scheduler of the files.
  void check_home() const noexcept;

  /// Reads a batch, from its next range on, after the batches that were added before.
  /// Errors: std::bad_alloc; then the batch is not read.
  void add(std::shared_ptr<range_batch> batch);

  /// Abandons all batches: starts no further range, and cancels those in flight.
  void cancel_all() noexcept;

 private:
  struct slot : file_request {
    batched_reads* owner = nullptr;
    std::shared_ptr<batched_reads> alive;  // while the request is in flight
    std::shared_ptr<range_batch> batch;
    std::size_t range = 0;
    bool held = false;  // until its file is open, or may be opened
  };

  static const file_range& range_of(const slot& s) noexcept { return s.batch->ranges[s.range]; }
  void start_reads() noexcept;
  void begin(slot& s) noexcept;
  void hold(slot& s) noexcept;
  void retry_held() noexcept;
  void submit(slot& s) noexcept;
  void complete(slot& s) noexcept;
  void finish_open(slot& s) noexcept;
  void finish(slot& s, std::int64_t error) noexcept;
  void release(slot& s, std::int64_t error) noexcept;

  const std::shared_ptr<open_file_cache> files_;
  std::vector<slot> slots_;
  std::vector<slot*> idle_;
  std::deque<std::shared_ptr<range_batch>> batches_;
  std::size_t under_way_ = 0;  // requests
  std::size_t held_ = 0;       // slots
};

}  // namespace LEAT::detail
