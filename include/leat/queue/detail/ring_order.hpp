#pragma once

#include <bit>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace leat::detail {

/// First in, first out: a ring of a power of two of places, grown on reserve() only.
template <class T>
class ring_order {
 public:
  static constexpr bool whole_batches = false;
  /// An item that would be alone in here and is wanted already need not come in.
  static constexpr bool may_be_passed_by = true;

  ring_order() = default;
  ring_order(const ring_order&) = delete;
  ring_order& operator=(const ring_order&) = delete;
  ~ring_order() {
    while (head_ != tail_) std::destroy_at(place(head_++));
    free(places_, mask_ + 1);
  }

  /// Makes room for `count` items in all. Errors: std::bad_alloc; then nothing has changed.
  void reserve(std::size_t count) {
    if (places_ && count <= mask_ + 1) return;
    if (count > std::allocator_traits<std::allocator<T>>::max_size({})) throw std::bad_alloc();
    const std::size_t wanted = std::bit_ceil(count < 8 ? std::size_t{8} : count);
    T* const fresh = std::allocator<T>().allocate(wanted);
    std::size_t moved = 0;
    for (; head_ != tail_; ++head_, ++moved) {
      std::construct_at(fresh + moved, std::move(*place(head_)));
      std::destroy_at(place(head_));
    }
    free(places_, mask_ + 1);
    places_ = fresh;
    mask_ = wanted - 1;
    head_ = 0;
    tail_ = moved;
  }

  [[nodiscard]] bool has_room() const noexcept { return places_ && size() <= mask_; }
  [[nodiscard]] std::size_t size() const noexcept { return tail_ - head_; }

  void store(T&& value) noexcept { std::construct_at(place(tail_++), std::move(value)); }

  /// Moves the oldest item to the raw memory at `to`.
  void take(T* to) noexcept {
    T* const from = place(head_++);
    std::construct_at(to, std::move(*from));
    std::destroy_at(from);
  }

  /// Puts the item back that was taken last.
  void give_back(T&& value) noexcept { std::construct_at(place(--head_), std::move(value)); }

 private:
  T* place(std::size_t index) const noexcept { return places_ + (index & mask_); }
  static void free(T* places, std::size_t count) noexcept {
    if (places) std::allocator<T>().deallocate(places, count);
  }

  T* places_ = nullptr;
  std::size_t mask_ = 0;
  std::size_t head_ = 0;  // both only grow, and wrap around together
  std::size_t tail_ = 0;
};

}  // namespace leat::detail
