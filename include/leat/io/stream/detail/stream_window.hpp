#pragma once

#include <cstddef>
#include <cstdint>

#include "leat/base/bytes.hpp"
#include "leat/io/stream/detail/chunk.hpp"

namespace LEAT::detail {

/// The contiguous part of a stream of bytes that is in view. It moves along the stream chunk by
/// chunk and keeps unprocessed bytes at its beginning.
///
/// Thread safety: thread-bound.
class stream_window {
 public:
  [[nodiscard]] const std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// The offset of data() in the stream.
  [[nodiscard]] std::uint64_t offset() const noexcept { return end_ - size_; }
  /// The offset after the last byte in view.
  [[nodiscard]] std::uint64_t end() const noexcept { return end_; }
  /// Keeps data() alive.
  [[nodiscard]] const chunk_reference& keeper() const noexcept { return current_; }

  /// Returns the number of bytes that were copied from one chunk to another.
  [[nodiscard]] std::uint64_t copied() const noexcept { return copied_; }

  /// The bytes that must stay in view, and those that will follow.
  struct request {
    std::size_t carried = 0;   ///< bytes at the end of the view
    std::uint64_t needed = 0;  ///< bytes wanted in view, from the first of these on; 0: unknown
    bool certain = false;      ///< these will follow: reserve memory for all of them
  };

  /// Memory that is not in view.
  struct free_space {
    chunk_reference in;
    std::byte* at = nullptr;
    std::size_t size = 0;
  };

  /// Returns memory for the next bytes: after the view if its chunk has space left and the carried
  /// bytes are not worth a copy. `size` is the usual size of a chunk. Errors: std::bad_alloc.
  [[nodiscard]] free_space reserve(chunk_pool& pool, const request& d, std::size_t size) const;

  /// Like reserve(), but in a separate chunk.
  [[nodiscard]] static free_space reserve_chunk(chunk_pool& pool, const request& d,
                                                std::size_t size);

  /// Brings the first `fresh` bytes of `r` into view, after the carried bytes. The total cost of
  /// copying is linear in the bytes that come into view. Errors: std::bad_alloc; then nothing has
  /// changed.
  void slide(chunk_pool& pool, free_space r, const request& d, std::size_t fresh);

  /// Keeps the last `carried` bytes in view.
  void shrink(std::size_t carried) noexcept;

  /// Empties the view and continues at another offset of the stream.
  void restart(std::uint64_t offset) noexcept;

 private:
  void copy(std::byte* to, const std::byte* from, std::size_t count) noexcept;

  chunk_reference current_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::uint64_t end_ = 0;
  std::size_t fresh_ = 0;  // of the last slide()
  std::uint64_t copied_ = 0;
};

}  // namespace LEAT::detail
