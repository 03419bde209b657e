#pragma once

#include <cstddef>
#include <cstdint>

#include "leat/codec/bytes.hpp"
#include "leat/io/detail/chunk.hpp"

namespace leat::detail {

/// The piece of a stream of bytes that is in view: contiguous memory that moves along the stream,
/// chunk by chunk, and keeps at its beginning what has not been dealt with.
///
/// Thread safety: thread-bound.
class window {
 public:
  [[nodiscard]] const std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// The place of data() in the stream.
  [[nodiscard]] std::uint64_t offset() const noexcept { return end_ - size_; }
  /// The place behind the last byte in view.
  [[nodiscard]] std::uint64_t end() const noexcept { return end_; }
  /// What keeps data() alive.
  [[nodiscard]] const chunk_reference& keeper() const noexcept { return current_; }

  /// A chunk for what comes next, with room before it for `carried` bytes. `size` is its usual
  /// size. Errors: std::bad_alloc.
  [[nodiscard]] static chunk_reference room_for(chunk_pool& pool, std::size_t carried,
                                                std::size_t size);

  /// Brings the first `fresh` bytes of the chunk into view, behind the last `carried` of those that
  /// are. Errors: std::bad_alloc, then nothing has changed.
  void slide(chunk_pool& pool, chunk_reference c, std::size_t carried, std::size_t fresh);

  /// Keeps the last `carried` bytes in view.
  void shrink(std::size_t carried) noexcept;

  /// Empties the view, and goes on at another place of the stream.
  void restart(std::uint64_t offset) noexcept;

 private:
  chunk_reference current_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::uint64_t end_ = 0;
};

}  // namespace leat::detail
