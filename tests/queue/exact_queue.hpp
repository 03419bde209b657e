#pragma once

#include <algorithm>
#include <deque>
#include <new>

#include "leat/queue/basic_queue.hpp"
#include "support/leat_test.hpp"

// A queue that records how much memory it reserves, and can be refused more.

struct room {
  std::size_t reserved = 0;  // the largest reserved size
  bool refuse = false;       // rejects further reservations
  bool overrun = false;      // more items were stored than reserved
};

// First in, first out, with exactly the reserved capacity.
class exact_order {
 public:
  static constexpr bool takes_whole_batches = false;
  static constexpr bool allows_direct_handoff = true;
  explicit exact_order(room& r) : room_(r) {}
  void reserve(std::size_t count) {
    if (room_.refuse && count > room_.reserved) throw std::bad_alloc();
    room_.reserved = std::max(room_.reserved, count);
  }
  [[nodiscard]] std::size_t slots() const noexcept { return room_.reserved; }
  [[nodiscard]] std::size_t size() const noexcept { return items_.size(); }
  void store(int&& value) noexcept {
    room_.overrun |= size() >= slots();
    items_.push_back(value);
  }
  void take(int* to) noexcept {
    std::construct_at(to, items_.front());
    items_.pop_front();
  }
  void put_back(int&& value) noexcept {
    room_.overrun |= size() >= slots();
    items_.push_front(value);
  }

 private:
  room& room_;
  std::deque<int> items_;
};

template <class Order>
struct exact_queue_of : leat::basic_queue<int, Order> {
  exact_queue_of(std::size_t capacity, room& r)
      : leat::basic_queue<int, Order>({.capacity = capacity, .name = "exact"}, 0, {}, r) {}
};
using exact_queue = exact_queue_of<exact_order>;
