#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "leat/base/bytes.hpp"

namespace LEAT::detail {

/// Computes the CRC-32C of many overlapping ranges of one text, such as the payloads of candidate
/// headers. Reads each byte once for all ranges, not once for each.
///
/// Stores the checksum of the text up to every 256th byte, from the beginning of the last range: 4
/// bytes per 256. Thread safety: thread-bound.
class range_checksums {
 public:
  static constexpr std::size_t block = 256;

  /// Returns the checksum of `range`, which is at `offset` of the text. The text must be unchanged.
  ///
  /// Errors: std::bad_alloc; the next call is not affected.
  /// Cost:   at most 2 blocks, and the unread part of the range; about 1 us to combine. If `offset`
  ///         is before the offset of the last call, everything is read again.
  [[nodiscard]] std::uint32_t of(byte_view range, std::uint64_t offset);

  // The following members compute the checksum of a range that is not completely in memory: the
  // caller adds its blocks one by one.

  /// Returns the first multiple of `block` that is not before `offset`.
  [[nodiscard]] static constexpr std::uint64_t boundary(std::uint64_t offset) noexcept {
    return (offset + block - 1) / block * block;
  }

  /// Starts a range at `offset`. Errors: std::bad_alloc.
  void begin(std::uint64_t offset);

  /// Returns the end of the known blocks from boundary() on. Pass the bytes that follow to add().
  [[nodiscard]] std::uint64_t known_to() const noexcept {
    return first_ + (states_.size() - 1) * block;
  }

  /// Adds complete blocks. Errors: std::bad_alloc; known_to() returns the end of the known blocks.
  void add(byte_view blocks);

  /// Returns the checksum of the started range of `size` bytes: `head` are the bytes before
  /// boundary(), `tail` the bytes after the last complete block. Precondition: all blocks between
  /// are known.
  [[nodiscard]] std::uint32_t of(byte_view head, byte_view tail, std::uint64_t size) noexcept;

  /// Returns the number of bytes that were read.
  [[nodiscard]] std::uint64_t summed() const noexcept { return summed_; }

 private:
  [[nodiscard]] std::uint32_t go_through(std::uint32_t state, byte_view bytes) noexcept;

  std::uint64_t first_ = 0;           // a multiple of `block`: position of the first state
  std::deque<std::uint32_t> states_;  // without inversions, from 0 at some place before
  std::uint64_t summed_ = 0;
};

}  // namespace LEAT::detail
