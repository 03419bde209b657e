#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <source_location>
#include <span>
#include <string_view>

#include "leat/async/task.hpp"
#include "leat/base/internal/exclusive_use.hpp"
#include "leat/io/file/file.hpp"
#include "leat/io/stream/detail/chunk.hpp"
#include "leat/io/stream/detail/stream_window.hpp"
#include "leat/io/stream/read_options.hpp"

namespace LEAT {

namespace detail {

/// Errors: invalid_argument for options out of range; the message begins with `owner`.
void check(const read_options& options, std::string_view owner);

/// Reads a file from its beginning in chunks, ahead of the consumer.
///
/// Copies data in the page cache directly with a plain read, one chunk at a time, which also keeps
/// it in the CPU cache. At the first chunk that is not cached, `depth` reads go to the backend and
/// stay in flight until the end of the file.
///
/// Direct reads begin and end at multiples of 4 KiB, in the file and in memory, and the last one
/// extends past the end of the file. The rest of a short direct read goes through the page cache.
///
/// The destructor cancels reads, which has no effect on a read of a file that the kernel has
/// started. Such reads finish alone, and their chunks free themselves.
///
/// Thread safety: thread-bound.
class read_ahead {
 public:
  /// `headroom`: the number of bytes that can be carried to the next chunk without copying all.
  /// Errors: invalid_argument for options out of range; std::bad_alloc.
  read_ahead(file& f, const read_options& options, std::size_t headroom);
  read_ahead(const read_ahead&) = delete;
  read_ahead& operator=(const read_ahead&) = delete;
  ~read_ahead();

  /// Brings the next data of the file into view, after the last `carried` bytes of the present
  /// view. Returns false at the end of the file; then only the carried bytes are in view.
  ///
  /// Errors:       of the system, with path and offset; nothing is consumed, and the next call
  ///               repeats the read. data_loss for a file that has become shorter; every later call
  ///               returns it again, until seek().
  /// Cancellation: total; the read continues, and the next call uses its result.
  [[nodiscard]] task<bool> advance(std::size_t carried, std::source_location where) {
    return advance(carried, 0, where);
  }

  /// Overload for `needed` bytes, if not 0, that will be used from the first carried byte on. If
  /// the file has a size, memory for all of them is reserved at once, otherwise at most as much.
  /// Precondition: a file with a size has as many bytes.
  [[nodiscard]] task<bool> advance(std::size_t carried, std::uint64_t needed,
                                   std::source_location where);

  /// Continues at another offset of the file: nothing is in view, and the next advance() brings the
  /// bytes at `offset`. Reads in flight are abandoned, as by the destructor.
  /// Precondition: a regular file, `offset` at most its size.
  void seek(std::uint64_t offset) noexcept;

  /// Reads at another offset, as file::read_at(). The view and reads in flight do not change.
  [[nodiscard]] task<std::size_t> read_out_of_band(std::uint64_t offset, std::span<std::byte> to,
                                                   std::source_location where);

  /// Returns true if reads bypass the page cache; false after the file system has refused one.
  [[nodiscard]] bool is_direct() const noexcept { return direct_; }

  /// Returns the current view of the file.
  [[nodiscard]] const stream_window& view() const noexcept { return view_; }

 private:
  [[nodiscard]] bool has_size() const noexcept { return file_.status().size > 0; }
  class buffered_io_scope;

  [[nodiscard]] std::uint64_t bytes_to_request() const noexcept;
  [[nodiscard]] std::size_t bytes_in_file(const chunk& c) const noexcept;
  void cancel_reads() noexcept;
  chunk_reference prepare_chunk(const stream_window::request& d);
  void submit(chunk& c) noexcept;
  void end_early(std::size_t got, const chunk& c) noexcept;
  void restart_from(std::uint64_t offset) noexcept;
  [[nodiscard]] task<void> fetch(stream_window::request d, std::source_location where);
  [[nodiscard]] task<std::size_t> complete(chunk& c, std::source_location where);
  [[nodiscard]] std::size_t drop_leading_bytes(chunk& c, std::size_t got) noexcept;

  file& file_;
  exclusive_use in_use_;
  const std::size_t chunk_size_;
  const std::size_t depth_;
  const bool requested_direct_;
  bool direct_;
  chunk_pool* pool_;
  stream_window view_;
  std::uint64_t next_offset_ = 0;  // to request
  std::size_t bytes_to_drop_ = 0;  // bytes at the beginning of the next chunk
  bool ended_ = false;
  std::deque<chunk_reference> under_way_;
};

}  // namespace detail
}  // namespace LEAT
