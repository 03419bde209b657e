#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "leat/async/detail/result_tuple.hpp"
#include "leat/queue/detail/queue_weight.hpp"
#include "leat/queue/detail/raw_storage.hpp"
#include "leat/queue/queue_base.hpp"

namespace leat::detail {

// The operations of a queue, independent of the form of the wait. An operation defines how it is
// tried at once, what the queue needs to know about it while it waits, and its result. `Weights`
// and `Batch` hold the weights of the items, for a queue that weighs.

template <class T, class Weights = unweighed_push>
struct push_operation {
  static constexpr auto the_role = queue_waiter::role::push;
  static constexpr bool all_or_nothing = true;
  T* value;
  [[no_unique_address]] Weights weights = {};

  template <class Queue>
  [[gnu::always_inline]] bool try_complete(Queue& q) {
    return q.try_store(*value, weights);
  }
  [[nodiscard]] void* items() noexcept { return weights.attach(value); }
  [[nodiscard]] std::size_t count() const noexcept { return 1; }
  [[nodiscard]] bool result(queue_outcome o, std::size_t) const noexcept {
    return o == queue_outcome::done;
  }
};

/// A push that owns its value.
template <class T, class Weights = unweighed_push>
struct push_copy_operation {
  static constexpr auto the_role = queue_waiter::role::push;
  static constexpr bool all_or_nothing = true;
  T value;
  [[no_unique_address]] Weights weights = {};

  template <class Queue>
  [[gnu::always_inline]] bool try_complete(Queue& q) {
    return q.try_store(value, weights);
  }
  [[nodiscard]] void* items() noexcept { return weights.attach(&value); }
  [[nodiscard]] std::size_t count() const noexcept { return 1; }
  [[nodiscard]] bool result(queue_outcome o, std::size_t) const noexcept {
    return o == queue_outcome::done;
  }
};

/// A pop of one item. Item is the item as it is stored, with its weight, because the pop may have
/// to return it.
template <class T, class Item = T>
struct pop_operation {
  static constexpr auto the_role = queue_waiter::role::pop;
  static constexpr bool all_or_nothing = true;
  raw_storage<Item> slot;

  template <class Queue>
  [[gnu::always_inline]] bool try_complete(Queue& q) noexcept {
    return q.try_take(slot.get());
  }
  static constexpr bool prepare() noexcept { return false; }
  [[nodiscard]] void* items() noexcept { return slot.get(); }
  [[nodiscard]] std::size_t count() const noexcept { return 1; }
  [[nodiscard]] std::optional<T> result(queue_outcome o, std::size_t) noexcept {
    if (o != queue_outcome::done) return std::nullopt;
    if constexpr (std::same_as<T, Item>) {
      return slot.take();
    } else {
      return slot.take().value;
    }
  }
};

template <class T, class Weights = unweighed_push>
struct push_many_operation {
  static constexpr auto the_role = queue_waiter::role::push_many;
  static constexpr bool all_or_nothing = false;
  std::span<T> values;
  [[no_unique_address]] Weights weights = {};

  template <class Queue>
  bool try_complete(Queue& q) const {
    return values.empty() || q.try_store_batch(values);
  }
  [[nodiscard]] void* items() noexcept { return weights.attach(values.data()); }
  [[nodiscard]] std::size_t count() const noexcept { return values.size(); }
  [[nodiscard]] std::size_t result(queue_outcome, std::size_t moved) const noexcept {
    return moved;
  }
};

/// Like push_many_operation, but owns its items.
template <class T, class PushMany>
struct push_owned_operation : PushMany {
  explicit push_owned_operation(std::vector<T> items) : PushMany{}, owned(std::move(items)) {
    this->values = owned;
  }
  push_owned_operation(push_owned_operation&&) noexcept = default;  // the items stay where they are
  push_owned_operation& operator=(push_owned_operation&&) = delete;

  std::vector<T> owned;
};

template <class T, queue_waiter::role Role, class Batch = std::vector<T>>
struct pop_many_operation {
  static constexpr auto the_role = Role;
  static constexpr bool all_or_nothing = true;
  std::size_t wanted;
  Batch batch = {};

  template <class Queue>
  bool try_complete(Queue& q) {
    return prepare() || q.try_take_batch(batch, wanted);
  }
  /// Reserves the memory for the batch. Returns true if nothing is left to do.
  bool prepare() {
    if (wanted > batch.max_size()) throw std::bad_alloc();
    batch.reserve(wanted);
    return wanted == 0;
  }
  [[nodiscard]] void* items() noexcept { return &batch; }
  [[nodiscard]] std::size_t count() const noexcept { return wanted; }
  [[nodiscard]] std::optional<std::vector<T>> result(queue_outcome o, std::size_t) noexcept {
    if (o != queue_outcome::done) return std::nullopt;
    return std::move(batch);
  }
};

template <class Operation>
using operation_result =
    decltype(std::declval<Operation&>().result(queue_outcome::done, std::size_t{}));

/// The result of an operation that has ended, with or without `error`. A push_many may have added
/// some items before an error.
template <class Operation>
[[nodiscard]] result_tuple<operation_result<Operation>> finish(
    Operation& operation, queue_outcome o, std::size_t moved, std::error_code error = {}) noexcept {
  if constexpr (Operation::all_or_nothing) {
    return tuple_of<operation_result<Operation>>(error, [&] { return operation.result(o, moved); });
  } else {
    return {error, operation.result(o, moved)};
  }
}

}  // namespace leat::detail
