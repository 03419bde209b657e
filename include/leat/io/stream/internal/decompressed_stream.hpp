#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <span>
#include <string_view>

#include "leat/async/task.hpp"
#include "leat/base/internal/pimpl.hpp"
#include "leat/codec/compression/compression.hpp"
#include "leat/codec/compression/decompressor.hpp"
#include "leat/io/file/file.hpp"
#include "leat/io/stream/detail/framing_types.hpp"
#include "leat/io/stream/detail/read_ahead.hpp"
#include "leat/io/stream/detail/stream_window.hpp"
#include "leat/io/stream/read_options.hpp"

namespace LEAT::detail {

/// Options of a decompressed_stream.
struct decompressed_stream_options {
  read_options read = {};
  std::optional<leat::compression> compression = leat::compression::none;  ///< if not set: detected
  decompression_options decompression = {};
  leat::compression (*detect)(byte_view beginning) = &detect_compression;
  bool tolerate_truncation = false;  ///< a truncated compressed stream ends like a complete one
};

/// The chunks of decompressed data: the current one, the next one, and one that a consumer keeps.
inline constexpr std::size_t decompressed_chunks = 3;

/// Errors: invalid_argument for options out of range; the message begins with `owner`.
void check(const decompressed_stream_options& options, std::string_view owner);

/// The contents of a file, decompressed if the file is compressed.
///
/// Thread safety: thread-bound.
class decompressed_stream {
 public:
  /// Errors: invalid_argument for options out of range; std::bad_alloc.
  decompressed_stream(file& f, const decompressed_stream_options& options, std::size_t headroom);
  decompressed_stream(const decompressed_stream&) = delete;
  decompressed_stream& operator=(const decompressed_stream&) = delete;
  ~decompressed_stream();

  /// Brings the next bytes into view, after the last `carried` bytes of the view. Returns false at
  /// the end, or at corruption in the compressed data; then only the carried bytes are in view.
  /// `needed`: see read_ahead::advance().
  ///
  /// Errors, cancellation: as read_ahead::advance().
  [[nodiscard]] task<bool> advance(std::size_t carried, std::uint64_t needed,
                                   std::source_location where) {
    if (!type_) return begin(where);
    return decoding_ ? decompress(carried, needed, where) : source_.advance(carried, needed, where);
  }

  [[nodiscard]] const stream_window& view() const noexcept;

  /// Returns the corruption after the view; not set if the stream continues or has ended.
  [[nodiscard]] const std::optional<record_corruption>& fault() const noexcept { return fault_; }

  /// Set at the end if the compressed stream is truncated and truncation is tolerated.
  [[nodiscard]] const std::optional<record_corruption>& truncation() const noexcept {
    return truncation_;
  }

  /// Returns true once the file is known to be compressed.
  [[nodiscard]] bool is_compressed() const noexcept { return static_cast<bool>(decoding_); }

  /// Returns the size of the stream, if it is known before the end.
  [[nodiscard]] std::uint64_t size() const noexcept {
    return can_seek_directly() ? file_.status().size : unknown_size;
  }

  /// Returns true if reads bypass the page cache.
  [[nodiscard]] bool is_direct() const noexcept { return source_.is_direct(); }

  /// Returns true if seek() costs no more than sequential reading.
  [[nodiscard]] bool can_seek_directly() const noexcept {
    return type_ == compression::none && file_.status().size > 0;
  }

  /// Reads at another offset without changing the view: at most the size of `to`, less at the end.
  /// Precondition: can_seek_directly(). Errors, cancellation: as file::read_at().
  [[nodiscard]] task<std::size_t> read_out_of_band(std::uint64_t offset, std::span<std::byte> to,
                                                   std::source_location where) {
    return source_.read_out_of_band(offset, to, where);
  }

  /// Continues as near before `offset` as possible and returns that offset. The view is empty then.
  /// Errors: unimplemented for a file that can only be read in sequence.
  [[nodiscard]] std::uint64_t seek(std::uint64_t offset);

 private:
  struct decoding;

  void start_decoding(compression type);
  [[nodiscard]] task<bool> begin(std::source_location where);
  [[nodiscard]] task<bool> decompress(std::size_t carried, std::uint64_t needed,
                                      std::source_location where);
  [[nodiscard]] bool decompress_some(const stream_window::request& d);
  void end_stream(const decompression_result& r);

  file& file_;
  const decompressed_stream_options options_;
  const std::size_t headroom_;
  read_ahead source_;
  std::optional<compression> type_;  // once it is known
  pimpl<decoding> decoding_;         // if there is one
  std::optional<record_corruption> fault_;
  std::optional<record_corruption> truncation_;
};

}  // namespace LEAT::detail
