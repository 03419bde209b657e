#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "leat/base/internal/reserve_doubling.hpp"

namespace LEAT::detail {

/// Smallest item first, and the oldest of equal items: a binary heap of numbered items.
template <class T, class Less>
class heap_order {
 public:
  /// A batch has the smallest of the stored items, not the first that arrived.
  static constexpr bool takes_whole_batches = true;
  static constexpr bool allows_direct_handoff = true;

  explicit heap_order(Less less) : less_(std::move(less)) {}

  /// Reserves capacity for `count` items in all. Errors: std::bad_alloc; then nothing has changed.
  void reserve(std::size_t count) { reserve_doubling(heap_, count); }

  [[nodiscard]] std::size_t slots() const noexcept { return heap_.capacity(); }
  [[nodiscard]] std::size_t size() const noexcept { return heap_.size(); }

  void store(T&& value) noexcept { insert(std::move(value), newest_++); }

  /// Moves the smallest item to the raw memory at `to`.
  void take(T* to) noexcept {
    std::construct_at(to, std::move(heap_.front().value));
    entry last = std::move(heap_.back());
    heap_.pop_back();
    if (!heap_.empty()) sift_down(std::move(last));
  }

  /// Returns the item that was taken last, before its equals.
  void put_back(T&& value) noexcept { insert(std::move(value), --oldest_); }

 private:
  struct entry {
    T value;
    std::int64_t number;
  };

  [[nodiscard]] bool before(const entry& a, const entry& b) const noexcept {
    if (less_(a.value, b.value)) return true;
    return a.number < b.number && !less_(b.value, a.value);
  }

  // The hole moves, so each item is moved once; a swap would move three times.
  void insert(T&& value, std::int64_t number) noexcept {
    heap_.push_back({std::move(value), number});
    std::size_t hole = heap_.size() - 1;
    if (hole == 0 || !before(heap_[hole], heap_[(hole - 1) / 2])) return;
    entry moving = std::move(heap_[hole]);
    while (hole > 0 && before(moving, heap_[(hole - 1) / 2])) {
      heap_[hole] = std::move(heap_[(hole - 1) / 2]);
      hole = (hole - 1) / 2;
    }
    heap_[hole] = std::move(moving);
  }

  // Fills the hole at the root.
  void sift_down(entry moving) noexcept {
    std::size_t hole = 0;
    for (std::size_t child = 1; child < heap_.size(); child = 2 * hole + 1) {
      if (child + 1 < heap_.size() && before(heap_[child + 1], heap_[child])) ++child;
      if (!before(heap_[child], moving)) break;
      heap_[hole] = std::move(heap_[child]);
      hole = child;
    }
    heap_[hole] = std::move(moving);
  }

  std::vector<entry> heap_;
  std::int64_t newest_ = 0;  // number of the next item
  std::int64_t oldest_ = 0;  // of the item that was returned last
  Less less_;
};

}  // namespace LEAT::detail
