#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "io/file/gather_read.hpp"
#include "leat/base/bytes.hpp"
#include "leat/base/internal/aligned_bytes.hpp"
#include "leat/codec/tfrecord/tfrecord.hpp"

namespace LEAT::detail {

/// The frame of a requested record.
struct record_frame {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;  // including the frame
  std::uint64_t index = 0;
  std::size_t file = 0;      // index of the file
  std::size_t position = 0;  // among the requested records
  std::size_t at = 0;        // in memory

  [[nodiscard]] std::uint64_t end() const noexcept { return offset + size; }
  [[nodiscard]] std::span<std::byte> bytes(std::byte* memory) const noexcept {
    return {memory + at, static_cast<std::size_t>(size)};
  }
  [[nodiscard]] byte_view payload(const std::byte* memory) const noexcept {
    return {memory + at + tfrecord_header_size, static_cast<std::size_t>(size - tfrecord_overhead)};
  }
};

/// Ranges of files that contain all requested frames.
struct gather_plan {
  std::vector<file_range> ranges;
  std::uint64_t size = 0;  // of all ranges, bytes
};

/// Sorts the frames into the order of the files, assigns each its position in memory, and plans the
/// ranges to read: neighbours that are at most `max_gap` bytes apart share a range. A frame that is
/// requested twice is read once. `files`: the file handles, indexed by record_frame::file. `owner`:
/// the beginning of error messages.
///
/// Errors: invalid_argument if the total size exceeds the address space.
[[nodiscard]] gather_plan make_gather_plan(std::vector<record_frame>& frames,
                                           std::span<const std::shared_ptr<file_handle>> files,
                                           std::uint64_t max_gap, std::string_view owner);

/// Assigns each range its part of `memory`, which has as many bytes as all ranges together.
void assign_memory(std::span<file_range> ranges, std::byte* memory) noexcept;

/// Returns memory for `size` bytes: `available` if it is large enough and has no other owner.
/// Errors: std::bad_alloc.
[[nodiscard]] aligned_bytes reuse_or_allocate(std::uint64_t size, aligned_bytes available);

}  // namespace LEAT::detail
