#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "leat/pipeline/element/detail/ring_buffer.hpp"
#include "leat/pipeline/state/detail/origin.hpp"

namespace LEAT::detail {

/// The positions of a stage at the beginning of its last blocks, until forget(). An Entry may have
/// the origins of a block's elements, and draws: their memory is reused, so that a block needs no
/// allocation.
template <class Entry>
class replay_log {
 public:
  /// Records the start of the next block.
  void begin(Entry at) {
    Entry& fresh = entries_.push();
    const auto take_memory = [](auto& of, auto& from) {
      of.swap(from);
      of.clear();
    };
    if constexpr (requires { at.origins; }) take_memory(at.origins, fresh.origins);
    if constexpr (requires { at.draws; }) take_memory(at.draws, fresh.draws);
    fresh = std::move(at);
  }

  /// Returns true if the log has no block before the one that began last.
  [[nodiscard]] bool has_one() const noexcept { return entries_.size() == 1; }

  /// Returns the entry of the block that began last.
  [[nodiscard]] Entry& last() noexcept { return entries_.back(); }

  /// Returns the entry of a block; null if the block has not begun. Precondition: the block was not
  /// forgotten.
  [[nodiscard]] const Entry* find(std::uint64_t block) const noexcept {
    const auto i = static_cast<std::size_t>(block - first_);
    return i < entries_.size() ? &entries_[i] : nullptr;
  }
  [[nodiscard]] Entry* find(std::uint64_t block) noexcept {
    const auto i = static_cast<std::size_t>(block - first_);
    return i < entries_.size() ? &entries_[i] : nullptr;
  }

  /// Moves the origins of a block's elements to `all`. Call it once for each block.
  void take_origins(std::uint64_t block, std::vector<origin>& all) noexcept {
    all.clear();
    all.swap(find(block)->origins);
  }

  /// Drops the entries of all blocks before this one.
  void forget(std::uint64_t block) noexcept {
    for (; first_ < block && !entries_.empty(); ++first_) entries_.pop();
  }

 private:
  ring_buffer<Entry> entries_;
  std::uint64_t first_ = 0;  // of those that are known
};

}  // namespace LEAT::detail
