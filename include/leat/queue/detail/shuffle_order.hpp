#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "leat/base/internal/reserve_doubling.hpp"
#include "leat/base/random.hpp"

namespace LEAT::detail {

/// Any stored item, all equally likely: one random draw for each item taken. The last item fills
/// the hole.
template <class T>
class shuffle_order {
 public:
  static constexpr bool takes_whole_batches = false;
  static constexpr bool allows_direct_handoff = false;  // each item taken is a draw

  explicit shuffle_order(random_engine random) noexcept : random_(random) {}

  /// Reserves capacity for `count` items in all. Errors: std::bad_alloc; then nothing has changed.
  void reserve(std::size_t count) { reserve_doubling(pool_, count); }

  [[nodiscard]] std::size_t slots() const noexcept { return pool_.capacity(); }
  [[nodiscard]] std::size_t size() const noexcept { return pool_.size(); }

  void store(T&& value) noexcept { pool_.push_back(std::move(value)); }

  /// Moves an item to the raw memory at `to`.
  void take(T* to) noexcept {
    T& chosen = pool_[static_cast<std::size_t>(random_.uniform_below(pool_.size()))];
    std::construct_at(to, std::move(chosen));
    if (&chosen != &pool_.back()) chosen = std::move(pool_.back());
    pool_.pop_back();
  }

  /// Puts an item back into the pool.
  void put_back(T&& value) noexcept { pool_.push_back(std::move(value)); }

 private:
  std::vector<T> pool_;
  random_engine random_;
};

}  // namespace LEAT::detail
