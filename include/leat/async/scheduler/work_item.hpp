#pragma once

#include <utility>

#include "leat/base/flavour.hpp"

namespace LEAT {

/// One piece of work that a scheduler runs. It is an intrusive list node, so that posting never
/// allocates.
///
/// The caller that posts an item must keep it alive until it has run. The run function of an item
/// may post the item again, and may destroy it.
struct work_item {
  /// Runs the item, on the scheduler's thread. Must not throw.
  using run_function = void (*)(work_item&) noexcept;

  /// The next item of the list that contains this one; null at its end.
  work_item* next_ = nullptr;
  /// The function that runs the item.
  run_function run_ = nullptr;
};

/// A first-in, first-out list of work items, which it does not own.
/// Thread safety: thread-compatible. Cost: O(1) for each operation.
class work_list {
 public:
  work_list() = default;
  work_list(work_list&& other) noexcept
      : head_(std::exchange(other.head_, nullptr)), tail_(std::exchange(other.tail_, nullptr)) {}
  work_list& operator=(work_list&& other) noexcept {
    head_ = std::exchange(other.head_, nullptr);
    tail_ = std::exchange(other.tail_, nullptr);
    return *this;
  }

  [[nodiscard]] bool empty() const noexcept { return head_ == nullptr; }
  /// Returns the oldest item, or null if the list is empty.
  [[nodiscard]] work_item* front() const noexcept { return head_; }

  /// Adds an item at the end.
  void push_back(work_item& item) noexcept {
    item.next_ = nullptr;
    (head_ ? tail_->next_ : head_) = &item;
    tail_ = &item;
  }

  /// Removes and returns the oldest item. Returns null if the list is empty.
  work_item* pop_front() noexcept {
    work_item* item = head_;
    if (item) head_ = item->next_;
    return item;
  }

  /// Removes an item. Returns false if the list does not contain it. Cost: O(n).
  bool remove(work_item& item) noexcept {
    work_item* previous = nullptr;
    for (work_item* i = head_; i; previous = std::exchange(i, i->next_)) {
      if (i != &item) continue;
      (previous ? previous->next_ : head_) = item.next_;
      if (tail_ == &item) tail_ = previous;
      return true;
    }
    return false;
  }

  /// Moves all items of `other` to the end of this list.
  void append(work_list& other) noexcept {
    if (other.empty()) return;
    (head_ ? tail_->next_ : head_) = other.head_;
    tail_ = other.tail_;
    other.head_ = nullptr;
  }

 private:
  work_item* head_ = nullptr;
  work_item* tail_ = nullptr;
};

}  // namespace LEAT
