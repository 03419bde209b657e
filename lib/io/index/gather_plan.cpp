#include "io/index/gather_plan.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "leat/base/error.hpp"

namespace LEAT::detail {
namespace {

// Neighbours share a range up to this size.
constexpr std::uint64_t large_range = std::uint64_t{256} << 10;

bool stands_before(const record_frame& a, const record_frame& b) noexcept {
  return std::tie(a.file, a.offset) < std::tie(b.file, b.offset);
}

}  // namespace

gather_plan make_gather_plan(std::vector<record_frame>& frames,
                             std::span<const std::shared_ptr<file_handle>> files,
                             std::uint64_t max_gap, std::string_view owner) {
  if (!std::ranges::is_sorted(frames, stands_before)) std::ranges::sort(frames, stands_before);
  gather_plan layout;
  std::size_t file = 0;   // of the last range
  std::uint64_t end = 0;  // of it, in its file
  for (record_frame& f : frames) {
    // The frame lies within the last range, or close to its end.
    const bool near = !layout.ranges.empty() && f.file == file && f.offset <= end + max_gap &&
                      (f.end() <= end || f.end() - layout.ranges.back().offset <= large_range);
    if (!near) {
      layout.ranges.push_back({.from = files[f.file].get(), .file = f.file, .offset = f.offset});
      file = f.file;
      end = f.offset;
    }
    // 0 for a record that is requested twice.
    const std::uint64_t more = std::max(f.end(), end) - end;
    if (more > PTRDIFF_MAX - layout.size) {
      throw failure(errc::invalid_argument,
                    std::string(owner) + ": selection of " + std::to_string(frames.size()) +
                        " records is too large: select fewer records in one call");
    }
    layout.size += more;
    end += more;
    layout.ranges.back().size += static_cast<std::size_t>(more);
    // The ranges are contiguous in memory, in this order, so `end` in the file is layout.size in
    // memory.
    f.at = static_cast<std::size_t>(layout.size - (end - f.offset));
  }
  return layout;
}

void assign_memory(std::span<file_range> ranges, std::byte* memory) noexcept {
  for (file_range& p : ranges) {
    p.to = memory;
    memory += p.size;
  }
}

aligned_bytes reuse_or_allocate(std::uint64_t size, aligned_bytes available) {
  if (available.sole_owner() && available.size() >= size) return available;
  // Freed first, so that the old and the new memory never exist together.
  available = {};
  return aligned_bytes(static_cast<std::size_t>(size));
}

}  // namespace LEAT::detail
