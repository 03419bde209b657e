#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <source_location>
#include <span>
#include <string_view>

#include "leat/async/task.hpp"
#include "leat/base/detail/exclusive_use.hpp"
#include "leat/io/file/file.hpp"
#include "leat/io/stream/detail/chunk.hpp"
#include "leat/io/stream/detail/stream_window.hpp"
#include "leat/io/stream/read_options.hpp"

namespace leat {

namespace detail {

/// Errors: invalid_argument for options out of range; the message begins with `owner`.
void check(const read_options& options, std::string_view owner);

/// Reads a file from its beginning in chunks, ahead of the consumer.
///
/// Data in the page cache is copied by a plain read on the spot, one chunk at a time, which keeps
/// it in the processor's cache too. At the first chunk that is not there, `depth` reads go to the
/// backend and stay under way until the end of the file.
///
/// Direct reads begin and end at multiples of 4 KiB, also in memory, and the last one goes beyond
/// the end of the file. What a short one leaves is read through the page cache.
///
/// A reader that is destroyed cancels its reads, which for a file has no effect any more once the
/// kernel is at it, and leaves them to themselves: the chunks free themselves when it is done.
///
/// Thread safety: thread-bound.
class read_ahead {
 public:
  /// `headroom`: as much can be carried over to the next chunk without a copy of the whole.
  /// Errors: invalid_argument for options out of range; std::bad_alloc.
  read_ahead(file& f, const read_options& options, std::size_t headroom);
  read_ahead(const read_ahead&) = delete;
  read_ahead& operator=(const read_ahead&) = delete;
  ~read_ahead();

  /// Gets the next data of the file, with the last `carried` bytes of the present data in front.
  /// False at the end of the file: the data then is just what was carried.
  ///
  /// Errors:       of the system, with path and offset: nothing is consumed. The next call reads
  ///               it again from there. data_loss for a file that has become shorter; every
  ///               later call returns it again, until seek().
  /// Cancellation: total; the read goes on without its reader, and the next call finds it.
  [[nodiscard]] task<bool> advance(std::size_t carried, std::source_location where) {
    return advance(carried, 0, where);
  }

  /// The same where `needed` bytes, if not 0, are known to be wanted from the first carried one on:
  /// there is room for them at once where the file has a size, and no more than for them else.
  /// Precondition: a file with a size has as many.
  [[nodiscard]] task<bool> advance(std::size_t carried, std::uint64_t needed,
                                   std::source_location where);

  /// Continues at another offset of the file: nothing is in view, and the next advance() brings the
  /// bytes at `offset`. Reads in flight are abandoned, as by the destructor.
  /// Precondition: a regular file, `offset` at most its size.
  void seek(std::uint64_t offset) noexcept;

  /// Reads elsewhere in the file, as file::read_at(): what is in view and under way stays.
  [[nodiscard]] task<std::size_t> read_out_of_band(std::uint64_t offset, std::span<std::byte> to,
                                                   std::source_location where);

  /// True: it is read past the page cache. No more so once the file system has refused a read.
  [[nodiscard]] bool is_direct() const noexcept { return direct_; }

  /// What is in view of the file.
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
  std::uint64_t next_offset_ = 0;  // to ask for
  std::size_t bytes_to_drop_ = 0;  // bytes at the beginning of the next chunk
  bool ended_ = false;
  std::deque<chunk_reference> under_way_;
};

}  // namespace detail
}  // namespace leat
