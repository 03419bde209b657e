#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <iterator>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// First in, first out: a ring of a power of two of slots, grown on reserve() only. It is a
/// numbered_order: the queue passes the number of each item, which determines its slot. Numbers
/// only grow, and wrap around.
template <class T>
class numbered_ring {
 public:
  static constexpr bool takes_whole_batches = false;
  /// An item may go directly to a waiting pop, without being stored.
  static constexpr bool allows_direct_handoff = true;
  /// store() and take() use the two ends, and may run at the same time in two threads.
  static constexpr bool has_sides = true;

  numbered_ring() = default;
  numbered_ring(const numbered_ring&) = delete;
  numbered_ring& operator=(const numbered_ring&) = delete;
  /// Precondition: the items have been destroyed.
  ~numbered_ring() { free(slots_, mask_ + 1); }

  /// Reserves capacity for `count` items in all, of which those from `first` to before `last` are
  /// stored. Errors: std::bad_alloc; then nothing has changed.
  void reserve(std::size_t count, std::size_t first, std::size_t last) {
    if (slots_ && count <= mask_ + 1) return;
    if (count > std::allocator_traits<std::allocator<T>>::max_size({})) throw std::bad_alloc();
    const std::size_t wanted = std::bit_ceil(count < 8 ? std::size_t{8} : count);
    T* const fresh = std::allocator<T>().allocate(wanted);
    for (; first != last; ++first) {
      std::construct_at(fresh + (first & (wanted - 1)), std::move(*slot(first)));
      std::destroy_at(slot(first));
    }
    free(slots_, mask_ + 1);
    slots_ = fresh;
    mask_ = wanted - 1;
  }

  [[nodiscard]] std::size_t slots() const noexcept { return slots_ ? mask_ + 1 : 0; }

  void store(T&& value, std::size_t number) noexcept {
    std::construct_at(slot(number), std::move(value));
  }

  /// Moves the item to the raw memory at `to`.
  void take(T* to, std::size_t number) noexcept {
    T* const from = slot(number);
    std::construct_at(to, std::move(*from));
    std::destroy_at(from);
  }

  /// Like store() and take(), but for the items from `number` on. `to` has the capacity for them.
  void store_range(T* values, std::size_t count, std::size_t number) noexcept {
    const std::size_t run = contiguous(number, count);
    std::uninitialized_move_n(values, run, slot(number));
    if (run != count) [[unlikely]]  // the rest is at the beginning of the ring
      std::uninitialized_move_n(values + run, count - run, slots_);
  }
  void take_range(std::vector<T>& to, std::size_t count, std::size_t number) noexcept {
    const std::size_t run = contiguous(number, count);
    take_run(to, slot(number), run);
    if (run != count) [[unlikely]]
      take_run(to, slots_, count - run);
  }

  /// Returns an item that was taken.
  void put_back(T&& value, std::size_t number) noexcept { store(std::move(value), number); }

  /// Destroys the items from `first` to before `last`, which are all.
  void clear(std::size_t first, std::size_t last) noexcept {
    for (; first != last; ++first) std::destroy_at(slot(first));
  }

 private:
  T* slot(std::size_t number) const noexcept { return slots_ + (number & mask_); }
  // The number of slots from `number` on, up to `count`, that the end of the ring does not divide.
  [[nodiscard]] std::size_t contiguous(std::size_t number, std::size_t count) const noexcept {
    return std::min(count, mask_ + 1 - (number & mask_));
  }
  static void take_run(std::vector<T>& to, T* from, std::size_t count) noexcept {
    to.insert(to.end(), std::move_iterator(from), std::move_iterator(from + count));
    std::destroy_n(from, count);
  }
  static void free(T* slots, std::size_t count) noexcept {
    if (slots) std::allocator<T>().deallocate(slots, count);
  }

  T* slots_ = nullptr;
  std::size_t mask_ = 0;
};

}  // namespace LEAT::detail
