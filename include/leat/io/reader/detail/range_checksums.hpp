#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "leat/base/bytes.hpp"

namespace leat::detail {

/// CRC-32C of many ranges of one text that overlap, such as the payloads that look-alikes of
/// headers promise: each byte is gone through once for all of them, not once for each.
///
/// Holds the checksum of the text up to each 256th byte, from the beginning of the last range on:
/// 4 bytes for 256. Thread safety: thread-bound.
class range_checksums {
 public:
  static constexpr std::size_t block = 256;

  /// The checksum of `range`, which stands at `offset` of the text. The text must not have changed.
  ///
  /// Errors: std::bad_alloc; the next call is not affected.
  /// Cost:   at most 2 blocks, and what of the range was not gone through before; about 1 us to
  ///         combine. Everything again where `offset` is before that of the last call.
  [[nodiscard]] std::uint32_t of(byte_view range, std::uint64_t offset);

  // The same of a range that is not held as a whole, nor was: its blocks are given one by one.

  /// The first multiple of block that is not before `offset`.
  [[nodiscard]] static constexpr std::uint64_t boundary(std::uint64_t offset) noexcept {
    return (offset + block - 1) / block * block;
  }

  /// Begins with a range at `offset`. Errors: std::bad_alloc.
  void begin(std::uint64_t offset);

  /// The blocks from boundary() up to here are known; what comes here is given to add().
  [[nodiscard]] std::uint64_t known_to() const noexcept {
    return first_ + (states_.size() - 1) * block;
  }

  /// Whole blocks. Errors: std::bad_alloc; known_to() tells which are known.
  void add(byte_view blocks);

  /// The checksum of the range that was begun, of `size` bytes: `head` are those before
  /// boundary(), `tail` those behind the last whole block. Precondition: all between are known.
  [[nodiscard]] std::uint32_t of(byte_view head, byte_view tail, std::uint64_t size) noexcept;

  /// Bytes that were gone through.
  [[nodiscard]] std::uint64_t summed() const noexcept { return summed_; }

 private:
  [[nodiscard]] std::uint32_t go_through(std::uint32_t state, byte_view bytes) noexcept;

  std::uint64_t first_ = 0;           // a multiple of block: where the first state belongs
  std::deque<std::uint32_t> states_;  // without inversions, from 0 at some place before
  std::uint64_t summed_ = 0;
};

}  // namespace leat::detail
