#include "leat/pipeline/stage/detail/buffer_origins.hpp"

#include <algorithm>

namespace LEAT::detail {

// Invariant: `held_` is the buffer now, and `steps_` has what each step since the oldest position
// has overwritten. A step that replaced an element put the new one into the same slot. A step that
// removed one moved the last element there, so the undone buffer has one more slot. Elements that
// were added without a draw are at the end, because a buffer is filled before it is drawn from.
std::vector<origin> buffer_origins::at(const mark& then) const {
  std::vector<origin> held;
  held.reserve(std::max(held_.size(), then.size));
  held = held_;
  for (std::uint64_t i = first_ + steps_.size(); i > then.steps; --i) {
    const step& s = steps_[static_cast<std::size_t>(i - 1 - first_)];
    if (s.removed && s.slot == held.size()) {
      held.push_back(s.drawn);
    } else {
      if (s.removed) held.push_back(held[s.slot]);
      held[s.slot] = s.drawn;
    }
  }
  held.resize(then.size);
  return held;
}

}  // namespace LEAT::detail
