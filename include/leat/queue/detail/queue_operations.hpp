#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "leat/async/operation/operation.hpp"
#include "leat/queue/detail/queue_owner.hpp"
#include "leat/queue/detail/queue_weight.hpp"
#include "leat/queue/detail/raw_storage.hpp"
#include "leat/queue/queue_base.hpp"

namespace LEAT::detail {

// The operations of a queue. Queue is the typed_queue_base. `Weights` and `Batch` hold the weights
// of the items, for a queue that weighs.

/// The base of all operations on queues, which add the members of leat::operation; items() and
/// count() are what the queue needs to know while they wait.
template <class Queue>
struct queue_operation {
  using waiter = queue_waiter;
  static constexpr bool undoable = false;
  queue_operation(Queue* q) noexcept : queue(q) {}
  static bool begin(queue_waiter& w) { return w.queue_.begin(w); }
  static bool withdraw(queue_waiter& w) noexcept { return w.queue_.abandon(w); }
  static void undo(queue_waiter&) noexcept {}  // another task may have popped the items

  Queue* queue;

 protected:
  [[gnu::always_inline]] static bool enqueue_push(queue_waiter& w) noexcept {
    return w.queue_.template enqueue_push<true>(w);
  }
  [[gnu::always_inline]] static bool enqueue_pop(queue_waiter& w) noexcept {
    return w.queue_.template enqueue_pop<true>(w);
  }
  static bool begin_provisional_pop(queue_waiter& w) { return w.queue_.begin_provisional(w); }
  static void commit_pop(queue_waiter& w) noexcept { w.queue_.commit(w); }
  static bool withdraw_untouched(queue_waiter& w) noexcept {
    return w.queue_.abandon_unless_begun(w);
  }
  void put_back(void* batch, std::size_t count) { queue->put_back(batch, count); }
};

/// Value: a pointer to the value, or the value, which the operation then owns.
template <class Queue, class Value, class Weights = unweighed_push>
struct push_operation : queue_operation<Queue> {
  static constexpr auto the_role = queue_waiter::role::push;
  static constexpr bool result_matters = true;
  Value value;
  [[no_unique_address]] Weights weights = {};

  [[gnu::always_inline]] bool try_complete(caller) {
    return this->queue->try_store(*address(), weights);
  }
  [[gnu::always_inline]] static bool enqueue_quickly(queue_waiter& w) noexcept
    requires std::same_as<Weights, unweighed_push>
  {
    return queue_operation<Queue>::enqueue_push(w);
  }
  [[nodiscard]] void* items() noexcept { return weights.attach(address()); }
  [[nodiscard]] static std::size_t count() noexcept { return 1; }
  [[nodiscard]] static bool result(wait_outcome o) noexcept { return o == wait_outcome::done; }

 private:
  auto address() noexcept {
    if constexpr (std::is_pointer_v<Value> && !Queue::template stores<Value>) {
      return value;
    } else {
      return std::addressof(value);
    }
  }
};

/// The part of a pop that can be undone.
template <class Queue, class Derived>
struct pop_base : queue_operation<Queue> {
  using queue_operation<Queue>::queue_operation;
  static constexpr bool undoable = true;
  bool begin_provisional(queue_waiter& w) {
    if (!self().prepare()) return queue_operation<Queue>::begin_provisional_pop(w);
    w.set_done();
    return true;
  }
  static void commit(queue_waiter& w) noexcept { queue_operation<Queue>::commit_pop(w); }
  [[nodiscard]] static bool can_undo(const queue_waiter& w) noexcept {
    return !w.has_items() || w.is_queue_alive();
  }
  // Destroys the items if the queue cannot take them back.
  void undo(queue_waiter& w) noexcept {
    if (!w.undo_unread()) self().discard();
  }

 private:
  Derived& self() noexcept { return static_cast<Derived&>(*this); }
};

/// A pop of one item. Item is the item as it is stored, with its weight, because the pop may have
/// to return it.
template <class Queue, class T, class Item = T>
struct pop_operation : pop_base<Queue, pop_operation<Queue, T, Item>> {
  static constexpr auto the_role = queue_waiter::role::pop;
  raw_storage<Item> slot{};

  [[gnu::always_inline]] bool try_complete(caller) noexcept {
    return this->queue->try_take(slot.get());
  }
  [[gnu::always_inline]] static bool enqueue_quickly(queue_waiter& w) noexcept
    requires std::same_as<T, Item>
  {
    return queue_operation<Queue>::enqueue_pop(w);
  }
  static constexpr bool prepare() noexcept { return false; }
  void discard() noexcept { static_cast<void>(slot.take()); }
  [[nodiscard]] void* items() noexcept { return slot.get(); }
  [[nodiscard]] static std::size_t count() noexcept { return 1; }
  [[nodiscard]] std::optional<T> result(wait_outcome o) noexcept {
    if (o != wait_outcome::done) return std::nullopt;
    if constexpr (std::same_as<T, Item>) {
      return slot.take();
    } else {
      return slot.take().value;
    }
  }
};

template <class Queue, class T, class Weights = unweighed_push>
struct push_many_operation : queue_operation<Queue> {
  static constexpr auto the_role = queue_waiter::role::push_many;
  static constexpr bool result_matters = true;
  std::span<T> values;
  [[no_unique_address]] Weights weights = {};

  [[nodiscard]] bool is_empty() const noexcept { return values.empty(); }
  bool try_complete(caller) const { return values.empty() || this->queue->try_store_batch(values); }
  static bool withdraw_unless_begun(queue_waiter& w) noexcept {
    return queue_operation<Queue>::withdraw_untouched(w);
  }
  [[nodiscard]] void* items() noexcept { return weights.attach(values.data()); }
  [[nodiscard]] std::size_t count() const noexcept { return values.size(); }
  [[nodiscard]] static std::size_t result(wait_outcome, std::size_t moved) noexcept {
    return moved;
  }
};

/// Like push_many_operation, but owns its items.
template <class T, class PushMany>
struct push_owned_operation : PushMany {
  template <class Queue>
  push_owned_operation(Queue* q, std::vector<T> items) : PushMany{q, {}}, owned(std::move(items)) {
    this->values = owned;
  }
  push_owned_operation(push_owned_operation&&) noexcept = default;  // the items stay where they are
  push_owned_operation& operator=(push_owned_operation&&) = delete;

  std::vector<T> owned;
};

template <class Queue, class T, queue_waiter::role Role, class Batch = std::vector<T>>
struct pop_many_operation : pop_base<Queue, pop_many_operation<Queue, T, Role, Batch>> {
  static constexpr auto the_role = Role;
  std::size_t wanted;
  Batch batch = {};

  [[nodiscard]] bool is_empty() const noexcept { return wanted == 0; }
  bool try_complete(caller) { return prepare() || this->queue->try_take_batch(batch, wanted); }
  /// Reserves the memory for the batch. Returns true if nothing is left to do.
  bool prepare() {
    if (wanted > batch.max_size()) throw std::bad_alloc();
    batch.reserve(wanted);
    return wanted == 0;
  }
  void discard() noexcept { batch.clear(); }
  [[nodiscard]] void* items() noexcept { return &batch; }
  [[nodiscard]] std::size_t count() const noexcept { return wanted; }
  [[nodiscard]] std::optional<std::vector<T>> result(wait_outcome o) noexcept {
    if (o != wait_outcome::done) return std::nullopt;
    return std::move(batch);
  }
};

}  // namespace LEAT::detail
