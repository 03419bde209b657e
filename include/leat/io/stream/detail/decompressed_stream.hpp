#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <span>
#include <string_view>

#include "leat/async/task.hpp"
#include "leat/base/detail/pimpl.hpp"
#include "leat/codec/compression/compression.hpp"
#include "leat/codec/compression/inflater.hpp"
#include "leat/io/file/file.hpp"
#include "leat/io/stream/detail/framing_types.hpp"
#include "leat/io/stream/detail/read_ahead.hpp"
#include "leat/io/stream/detail/stream_window.hpp"
#include "leat/io/stream/read_options.hpp"

namespace leat::detail {

/// How the bytes in which records lie come out of a file.
struct decompressed_stream_options {
  read_options read = {};
  std::optional<compression> compression_type = compression::none;  ///< empty: find out
  inflate_options inflate = {};
  compression (*detect)(byte_view beginning) = &detect_compression;
  bool tolerate_truncation = false;  ///< a truncated compressed stream ends as a complete one does
};

/// Chunks of what a compressed file holds: the one that is looked at, the one that comes next, and
/// one that a consumer keeps.
inline constexpr std::size_t inflated_chunks = 3;

/// Errors: invalid_argument for options out of range; the message begins with `owner`.
void check(const decompressed_stream_options& options, std::string_view owner);

/// The bytes of a file as its records lie in them: inflated where they are compressed.
///
/// Thread safety: thread-bound.
class decompressed_stream {
 public:
  /// Errors: invalid_argument for options out of range; std::bad_alloc.
  decompressed_stream(file& f, const decompressed_stream_options& options, std::size_t headroom);
  decompressed_stream(const decompressed_stream&) = delete;
  decompressed_stream& operator=(const decompressed_stream&) = delete;
  ~decompressed_stream();

  /// Brings the next bytes into view, behind the last `carried` of those that are. False at the
  /// end, or at corruption in what is compressed: then just these are in view. `needed`: see
  /// read_ahead::advance().
  ///
  /// Errors, cancellation: as read_ahead::advance().
  [[nodiscard]] task<bool> advance(std::size_t carried, std::uint64_t needed,
                                   std::source_location where) {
    if (!type_) return begin(where);
    return inflation_ ? inflate(carried, needed, where) : source_.advance(carried, needed, where);
  }

  [[nodiscard]] const stream_window& view() const noexcept;

  /// Why nothing comes behind what is in view, where that is not the end.
  [[nodiscard]] const std::optional<record_corruption>& fault() const noexcept { return fault_; }

  /// Set at the end if the compressed stream is truncated and that is tolerated.
  [[nodiscard]] const std::optional<record_corruption>& truncation() const noexcept {
    return truncation_;
  }

  /// True once the file is known to be compressed.
  [[nodiscard]] bool is_inflated() const noexcept { return static_cast<bool>(inflation_); }

  /// Bytes of the stream, where that is known before its end.
  [[nodiscard]] std::uint64_t size() const noexcept {
    return can_seek_directly() ? file_.status().size : unknown_size;
  }

  /// True: the file is read past the page cache.
  [[nodiscard]] bool is_direct() const noexcept { return source_.is_direct(); }

  /// True: seek() costs no more than to read on.
  [[nodiscard]] bool can_seek_directly() const noexcept {
    return type_ == compression::none && file_.status().size > 0;
  }

  /// Reads elsewhere in the stream, of which nothing changes: at most `to`, less at its end.
  /// Precondition: can_seek_directly(). Errors, cancellation: as file::read_at().
  [[nodiscard]] task<std::size_t> read_out_of_band(std::uint64_t offset, std::span<std::byte> to,
                                                   std::source_location where) {
    return source_.read_out_of_band(offset, to, where);
  }

  /// Goes on as near before `offset` as can be, and gives where; nothing is in view then.
  /// Errors: unimplemented for a file that can only be read in sequence.
  [[nodiscard]] std::uint64_t seek(std::uint64_t offset);

 private:
  struct inflation;

  void start_inflating(compression type);
  [[nodiscard]] task<bool> begin(std::source_location where);
  [[nodiscard]] task<bool> inflate(std::size_t carried, std::uint64_t needed,
                                   std::source_location where);
  [[nodiscard]] bool inflate_some(const stream_window::request& d);
  void end_stream(const inflate_result& r);

  file& file_;
  const decompressed_stream_options options_;
  const std::size_t headroom_;
  read_ahead source_;
  std::optional<compression> type_;  // once it is known
  pimpl<inflation> inflation_;       // where there is one
  std::optional<record_corruption> fault_;
  std::optional<record_corruption> truncation_;
};

}  // namespace leat::detail
