#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "leat/async/loop/block_on.hpp"
#include "model/model.hpp"

namespace model {

/// The item of the queues under test. Its value is not atomic, so Relacy reports a queue that does
/// not order its threads. Relacy also reports a value that is not destroyed.
class item {
 public:
  item(unsigned producer, unsigned number) : value_(producer * 100 + number) {}
  item(item&& other) noexcept : value_(other.value_.get()) { other.value_.set(gone); }
  item& operator=(item&& other) noexcept {
    value_.set(other.value_.get());
    other.value_.set(gone);
    return *this;
  }

  [[nodiscard]] unsigned producer() const { return value_.get() / 100; }
  [[nodiscard]] unsigned number() const { return value_.get() % 100; }
  [[nodiscard]] bool is_gone() const { return value_.get() == gone; }

 private:
  static constexpr unsigned gone = 0xdead;
  guarded<unsigned> value_;
};

/// Pushes an item. Requires that the queue is open.
template <class Queue>
void push_item(Queue& q, unsigned producer, unsigned number, place at = place::current()) {
  require(leat::block_on(q.push(item(producer, number))), "a push found the queue closed", at);
}

/// Returns the first `count` items of a producer.
inline std::vector<item> items_of(unsigned producer, unsigned count) {
  std::vector<item> items;
  items.reserve(count);
  for (unsigned n = 0; n < count; ++n) items.emplace_back(producer, n);
  return items;
}

/// The items that each consumer took. Each consumer writes to a list of its own.
class ledger {
 public:
  void took(unsigned consumer, const item& it) {
    require(!it.is_gone(), "an item was given out twice");
    lists_[consumer].push_back({it.producer(), it.number()});
  }

  /// Requires that each of `count` items of each producer was taken once. Also requires that each
  /// consumer took the items of a producer in order.
  void check(unsigned producers, unsigned count) const {
    check_order();
    for (unsigned p = 0; p < producers; ++p) {
      for (unsigned n = 0; n < count; ++n) {
        require(times(p, n) == 1, times(p, n) ? "an item left twice" : "an item was lost");
      }
    }
  }

  void check_order() const {
    for (const auto& list : lists_) {
      std::array<unsigned, 8> next{};
      for (const entry& e : list) {
        require(e.number >= next[e.producer], "items of one producer changed places");
        next[e.producer] = e.number + 1;
      }
    }
  }

  [[nodiscard]] std::size_t times(unsigned producer, unsigned number) const {
    std::size_t sum = 0;
    for (const auto& list : lists_) {
      sum +=
          static_cast<std::size_t>(std::count(list.begin(), list.end(), entry{producer, number}));
    }
    return sum;
  }

  [[nodiscard]] std::size_t count() const {
    std::size_t sum = 0;
    for (const auto& list : lists_) sum += list.size();
    return sum;
  }

 private:
  struct entry {
    unsigned producer;
    unsigned number;
    bool operator==(const entry&) const = default;
  };
  std::array<std::vector<entry>, 4> lists_;
};

}  // namespace model
