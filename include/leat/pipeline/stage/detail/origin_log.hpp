#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/pipeline/state/detail/origin.hpp"

namespace LEAT::detail {

/// The record of the blocks that a stage has delivered: its position at the beginning of each block
/// and, if a later stage asks for them, the origins of the elements. A state saves origins instead
/// of elements; a restore makes the elements again.
///
/// A later stage uses the four functions in this order:
///
///   1. enable_origins(), once, when it is constructed
///   2. take_origins(), after each next() that delivered a block
///   3. any_stage::forget(), when no state can begin before a block any more
///   4. replay(), at a restore, with the origins that a state has
template <class Block>
class origin_log {
 public:
  /// Records origins from now on. Returns false if the stage has none; then it needs no other of
  /// these functions.
  [[nodiscard]] virtual bool enable_origins() { return false; }
  /// Returns true if elements are made of batches, which origins then name.
  [[nodiscard]] virtual bool origins_are_batches() const noexcept { return false; }

  /// Moves the origins of the elements of a delivered block to `all`, once for each block.
  /// Precondition: the block was not forgotten.
  virtual void take_origins(std::uint64_t, std::vector<origin>& all) { all.clear(); }

  /// Accepts elements that were produced again, and their origins.
  using sink = std::function<void(Block& block, std::span<const origin> origins)>;
  /// Produces all elements again that depend on some records or batches, given once each, in order.
  [[nodiscard]] virtual task<void> replay(std::span<const origin>, sink) { co_return; }

 protected:
  origin_log() = default;
  ~origin_log() = default;
};

}  // namespace LEAT::detail
