#pragma once

#include <algorithm>
#include <cstddef>
#include <new>
#include <vector>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// Reserves capacity for `count` items in all, and at least for twice the current number if it must
/// grow, so that growing one by one costs little. Errors: std::bad_alloc; then nothing has changed.
template <class T>
void reserve_doubling(std::vector<T>& items, std::size_t count) {
  if (count <= items.capacity()) return;
  if (count > items.max_size()) throw std::bad_alloc();
  items.reserve(std::max(count, std::min(2 * items.size(), items.max_size())));
}

}  // namespace LEAT::detail
