#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "leat/pipeline/element/detail/ring_buffer.hpp"
#include "leat/pipeline/state/detail/stage_state.hpp"

namespace leat::detail {

/// The origins of what a shuffle buffer holds, slot by slot, now and some steps ago.
///
/// A buffer is filled; then each step draws an element, and another one takes its slot, or none.
/// Cost: a few ns and 48 bytes for each step that can be undone.
class buffer_origins {
 public:
  /// Between two steps.
  struct mark {
    std::size_t size = 0;
    std::uint64_t steps = 0;
  };

  [[nodiscard]] const origin& operator[](std::size_t slot) const noexcept { return held_[slot]; }

  /// Adds a slot after the others.
  void add(const origin& o) { held_.push_back(o); }
  /// Replaces the element of a slot, which was drawn.
  void replace(std::size_t slot, const origin& o) {
    steps_.push({slot, false, held_[slot]});
    held_[slot] = o;
  }
  /// Moves the last element to a slot, whose own was drawn.
  void remove(std::size_t slot) {
    steps_.push({slot, true, held_[slot]});
    held_[slot] = held_.back();
    held_.pop_back();
  }

  [[nodiscard]] std::uint64_t steps() const noexcept { return first_ + steps_.size(); }
  [[nodiscard]] mark now() const noexcept { return {held_.size(), first_ + steps_.size()}; }
  /// Returns true if in step n an element was drawn and no other one was added.
  /// Precondition: that step was made, and is not forgotten.
  [[nodiscard]] bool removed(std::uint64_t n) const noexcept {
    return steps_[static_cast<std::size_t>(n - first_)].removed;
  }
  /// What was held then. Precondition: it is not forgotten. Cost: O(what is held and was drawn).
  [[nodiscard]] std::vector<origin> at(const mark& then) const;
  /// Nobody goes back behind it.
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

}  // namespace leat::detail
