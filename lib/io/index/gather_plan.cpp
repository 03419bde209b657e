#include "io/index/gather_plan.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "leat/base/error.hpp"

namespace leat::detail {
namespace {

// Neighbours are read together up to here: more would only be copied at a time.
constexpr std::uint64_t large_piece = std::uint64_t{256} << 10;

bool stands_before(const record_frame& a, const record_frame& b) noexcept {
  return std::tie(a.file, a.offset) < std::tie(b.file, b.offset);
}

}  // namespace

frame_layout lay_out(std::vector<record_frame>& frames,
                     std::span<const std::shared_ptr<file_handle>> files, std::uint64_t max_gap,
                     std::string_view who) {
  if (!std::ranges::is_sorted(frames, stands_before)) std::ranges::sort(frames, stands_before);
  frame_layout layout;
  std::size_t file = 0;   // of the last piece
  std::uint64_t end = 0;  // of it, in its file
  for (record_frame& f : frames) {
    const bool near = !layout.pieces.empty() && f.file == file && f.offset <= end + max_gap &&
                      (f.end() <= end || f.end() - layout.pieces.back().offset <= large_piece);
    if (!near) {
      layout.pieces.push_back({.from = files[f.file].get(), .file = f.file, .offset = f.offset});
      file = f.file;
      end = f.offset;
    }
    const std::uint64_t more = std::max(f.end(), end) - end;
    if (more > PTRDIFF_MAX - layout.size) {
      throw failure(errc::invalid_argument, std::string(who) + ": " +
                                                std::to_string(frames.size()) +
                                                " records in one go are too large");
    }
    layout.size += more;
    end += more;
    layout.pieces.back().size += static_cast<std::size_t>(more);
    f.at = static_cast<std::size_t>(layout.size - (end - f.offset));
  }
  return layout;
}

void put_into(std::span<file_piece> pieces, std::byte* memory) noexcept {
  for (file_piece& p : pieces) {
    p.to = memory;
    memory += p.size;
  }
}

aligned_bytes memory_for(std::uint64_t size, aligned_bytes at_hand) {
  if (at_hand.sole_owner() && at_hand.size() >= size) return at_hand;
  at_hand = {};
  return aligned_bytes(static_cast<std::size_t>(size));
}

}  // namespace leat::detail
