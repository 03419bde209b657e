#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "leat/pipeline/element/detail/ring_buffer.hpp"
#include "leat/pipeline/state/detail/origin.hpp"

namespace LEAT::detail {

/// The origins of the elements in a shuffle buffer, slot by slot, now and some steps ago.
///
/// A buffer is filled. Then each step draws an element, and another element may take its slot.
/// Cost: a few ns and 48 bytes for each step that can be undone.
class buffer_origins {
 public:
  /// The position between two steps.
  struct mark {
    std::size_t size = 0;
    std::uint64_t steps = 0;
  };

  [[nodiscard]] const origin& operator[](std::size_t slot) const noexcept { return held_[slot]; }

  /// Adds a slot at the end.
  void add(const origin& o) { held_.push_back(o); }
  /// Replaces the drawn element of a slot.
  void replace(std::size_t slot, const origin& o) {
    steps_.push({slot, false, held_[slot]});
    held_[slot] = o;
  }
  /// Moves the last element to the slot of a drawn one.
  void remove(std::size_t slot) {
    steps_.push({slot, true, held_[slot]});
    held_[slot] = held_.back();
    held_.pop_back();
  }

  [[nodiscard]] std::uint64_t steps() const noexcept { return first_ + steps_.size(); }
  [[nodiscard]] mark now() const noexcept { return {held_.size(), first_ + steps_.size()}; }
  /// Returns true if step n drew an element and added none.
  /// Precondition: step n has been made and was not forgotten.
  [[nodiscard]] bool removed(std::uint64_t n) const noexcept {
    return steps_[static_cast<std::size_t>(n - first_)].removed;
  }
  /// Returns the elements held then. Precondition: not forgotten. Cost: O(elements held and drawn).
  [[nodiscard]] std::vector<origin> at(const mark& then) const;
  /// Forgets all steps before this position.
  void forget(const mark& then) noexcept {
    for (; first_ < then.steps && !steps_.empty(); ++first_) steps_.pop();
  }

  void assign(std::vector<origin> held) noexcept {
    held_ = std::move(held);
    steps_.clear();
    first_ = 0;
  }

 private:
  struct step {
    std::size_t slot = 0;
    bool removed = false;
    origin drawn = {};
  };

  std::vector<origin> held_;
  ring_buffer<step> steps_;
  std::uint64_t first_ = 0;  // the number of the first of these
};

}  // namespace LEAT::detail
