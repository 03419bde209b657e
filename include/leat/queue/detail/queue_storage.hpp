#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "leat/queue/detail/queue_weight.hpp"
#include "leat/queue/detail/raw_storage.hpp"

namespace LEAT::detail {

/// Stores the items of a queue and determines which one is next: the part that the author of a new
/// queue type writes. Called under the queue's lock. An Item is a value or, with a weight function,
/// a weighed value.
///
///   takes_whole_batches    true: a batch takes its items together once all are there, not one by
///                          one as they come
///   allows_direct_handoff  true: an item that would be alone in the queue may go to a waiting pop
///                          without store() and take()
///   reserve(count)         makes room for `count` items in all. The only function that allocates:
///                          std::bad_alloc, then nothing has changed
///   slots()                the number of items that fit in all without reserve(). More than size()
///                          before store() and put_back()
///   size()                 the number of items. Not 0: the precondition of take()
///   store(item)            adds an item
///   take(to)               moves the next item to the raw memory at `to`
///   put_back(item)         undoes the last take(), for a pop that was cancelled; several are
///                          undone in reverse order
///
/// An order that moves batches faster than item by item also has store_range() and take_range(),
/// and `has_sides` if store() and take() may run at the same time: see ring_order.
template <class Order, class Item>
concept queue_order =
    requires(Order& order, const Order& present, Item&& item, Item* to, std::size_t count) {
      { Order::takes_whole_batches } -> std::convertible_to<bool>;
      { Order::allows_direct_handoff } -> std::convertible_to<bool>;
      order.reserve(count);
      { present.slots() } noexcept -> std::same_as<std::size_t>;
      { present.size() } noexcept -> std::same_as<std::size_t>;
      { order.store(std::move(item)) } noexcept;
      { order.take(to) } noexcept;
      { order.put_back(std::move(item)) } noexcept;
    };

/// An order for which the queue passes the number of the item, and which keeps no count: first in,
/// first out. Numbers begin at 0; the item that is put back has the number that it had. clear()
/// destroys all items.
template <class Order, class Item>
concept numbered_order = requires(Order& order, const Order& present, Item&& item, Item* to,
                                  std::size_t number, std::size_t count) {
  { Order::takes_whole_batches } -> std::convertible_to<bool>;
  { Order::allows_direct_handoff } -> std::convertible_to<bool>;
  order.reserve(count, number, number);
  { present.slots() } noexcept -> std::same_as<std::size_t>;
  { order.store(std::move(item), number) } noexcept;
  { order.take(to, number) } noexcept;
  { order.put_back(std::move(item), number) } noexcept;
  { order.clear(number, number) } noexcept;
};

/// The items of a queue in their order, with their weights if it has a weight function. Called
/// under the queue's lock, except weigh(). Without a weight function, a weight is 0.
///
/// `number`: how many items have entered the queue, or left it, before the operation.
template <class T, class Order, class Weigh>
class queue_storage {
  static constexpr bool is_numbered = numbered_order<Order, stored_item<T, Weigh>>;
  static_assert(is_numbered || queue_order<Order, stored_item<T, Weigh>>,
                "queue order lacks a member, or a member may throw: see the concept queue_order");

 public:
  static constexpr bool weighs = !std::same_as<Weigh, unweighed>;
  /// Batches move as ranges.
  static constexpr bool has_ranges =
      !weighs &&
      (is_numbered || requires(Order& order, T* values, std::vector<T>& to, std::size_t count) {
        order.store_range(values, count);
        order.take_range(to, count);
      });
  /// A push that need not wait changes only the back, and a pop only the front.
  static constexpr bool has_sides = has_ranges && requires { requires Order::has_sides; };
  using item_type = stored_item<T, Weigh>;
  using push_weights = std::conditional_t<weighs, weighed_push, unweighed_push>;
  using batch = std::conditional_t<weighs, weighed_batch<T>, std::vector<T>>;

  template <class... OrderArguments>
  explicit queue_storage(Weigh weigh, OrderArguments&&... arguments)
      : weigh_(std::move(weigh)), order_(std::forward<OrderArguments>(arguments)...) {}

  /// Reserves capacity for `count` items in all. `left` and `entered`: how many items have. Returns
  /// for how many there is. Errors: std::bad_alloc; then nothing has changed.
  std::size_t reserve(std::size_t count, [[maybe_unused]] std::size_t left,
                      [[maybe_unused]] std::size_t entered) {
    if constexpr (is_numbered) {
      order_.reserve(count, left, entered);
    } else {
      order_.reserve(count);
    }
    return order_.slots();
  }
  /// Returns the number of items, by the count of the order if it has one.
  [[nodiscard]] std::size_t size([[maybe_unused]] std::size_t counted) const noexcept {
    if constexpr (is_numbered) {
      return counted;
    } else {
      return order_.size();
    }
  }
  /// Destroys the items of an order that does not do that itself.
  void clear([[maybe_unused]] std::size_t left, [[maybe_unused]] std::size_t entered) noexcept {
    if constexpr (is_numbered) order_.clear(left, entered);
  }

  [[gnu::always_inline]] void store(T& value, [[maybe_unused]] std::size_t weight,
                                    [[maybe_unused]] std::size_t number) noexcept {
    if constexpr (is_numbered && weighs) {
      order_.store({std::move(value), weight}, number);
    } else if constexpr (is_numbered) {
      order_.store(std::move(value), number);
    } else if constexpr (weighs) {
      order_.store({std::move(value), weight});
    } else {
      order_.store(std::move(value));
    }
  }

  /// Moves the next item to the raw memory at `to` and returns its weight.
  std::size_t take(item_type* to, [[maybe_unused]] std::size_t number) noexcept {
    if constexpr (is_numbered) {
      order_.take(to, number);
    } else {
      order_.take(to);
    }
    if constexpr (weighs) {
      return std::launder(to)->weight;
    } else {
      return 0;
    }
  }

  /// Move a batch. Preconditions: the storage has the slots or the items, and `to` the capacity.
  void store_range(T* values, std::size_t count, [[maybe_unused]] std::size_t number) noexcept
    requires has_ranges
  {
    if constexpr (is_numbered) {
      order_.store_range(values, count, number);
    } else {
      order_.store_range(values, count);
    }
  }
  void take_range(std::vector<T>& to, std::size_t count,
                  [[maybe_unused]] std::size_t number) noexcept
    requires has_ranges
  {
    if constexpr (is_numbered) {
      order_.take_range(to, count, number);
    } else {
      order_.take_range(to, count);
    }
  }

  /// Weighs the items of a push and passes each weight to `check`, which may throw.
  template <class Check>
  void weigh(push_weights& weights, T* items, std::size_t count, Check&& check) const {
    if constexpr (weighs) {
      weights.weigh(items, count, [&](const T& item) {
        const auto weight = static_cast<std::size_t>(weigh_(item));
        check(weight);
        return weight;
      });
    }
  }

  /// Moves the next `count` values of a push to storage.
  void store_from_push(queue_waiter& w, std::size_t count, std::size_t number) noexcept {
    if constexpr (has_ranges) {
      return store_range(static_cast<T*>(w.items_) + w.moved_, count, number);
    }
    for (std::size_t i = w.moved_; i < w.moved_ + count; ++i, ++number) {
      if constexpr (weighs) {
        const auto& weights = *static_cast<const weighed_push*>(w.items_);
        store(static_cast<T*>(weights.values())[i], weights.weight(i), number);
      } else {
        store(static_cast<T*>(w.items_)[i], 0, number);
      }
    }
  }

  /// Moves the next `count` values to a pop. Returns their weight.
  std::size_t move_to_pop(queue_waiter& w, std::size_t count, std::size_t number) noexcept {
    if (w.the_role() == queue_waiter::role::pop) {
      return take(static_cast<item_type*>(w.items_), number);
    }
    auto& items = *static_cast<batch*>(w.items_);
    std::size_t sum = 0;
    if constexpr (has_ranges) {
      take_range(items, count, number);
      return sum;
    }
    for (std::size_t i = 0; i < count; ++i) {
      raw_storage<item_type> moving;
      const std::size_t weight = take(moving.get(), number + i);
      if constexpr (weighs) {
        items.push_back(moving.take().value);
        items.weights.push_back(weight);
      } else {
        items.push_back(moving.take());
      }
      sum += weight;
    }
    return sum;
  }

  /// Returns all items of a pop to storage, and their weight to the caller.
  std::size_t return_to_storage(queue_waiter& w, std::size_t number) noexcept {
    if (w.the_role() == queue_waiter::role::pop) {
      item_type* const taken = std::launder(static_cast<item_type*>(w.items_));
      std::size_t weight = 0;
      if constexpr (weighs) weight = taken->weight;
      put_back(std::move(*taken), --number);
      std::destroy_at(taken);
      return weight;
    }
    auto& items = *static_cast<batch*>(w.items_);
    std::size_t sum = 0;
    for (; !items.empty(); items.pop_back()) {
      if constexpr (weighs) {
        const std::size_t weight = items.weights.back();
        put_back({std::move(items.back()), weight}, --number);
        items.weights.pop_back();
        sum += weight;
      } else {
        put_back(T(std::move(items.back())), --number);
      }
    }
    return sum;
  }

 private:
  void put_back(item_type&& item, [[maybe_unused]] std::size_t number) noexcept {
    if constexpr (is_numbered) {
      order_.put_back(std::move(item), number);
    } else {
      order_.put_back(std::move(item));
    }
  }

  [[no_unique_address]] const Weigh weigh_;
  Order order_;
};

}  // namespace LEAT::detail
