#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <source_location>
#include <utility>

#include "leat/async/wait_limit.hpp"

namespace leat {

/// The blocking form of the operations of a queue, for OS threads: for each awaitable `x()` a
/// `wait_x()` with the same results, errors and guarantees.
///
/// Precondition: the thread runs no scheduler; in a task, use the awaitable.
///
/// A thread that a coordinator has started (coordinator::start_thread) is reached by the stop of
/// that coordinator as a task is: its wait, present or next, ends as `cancelled`. Any wait can be
/// given a limit besides, a stop token, a time or both; see wait_limit. A stop that was requested
/// before ends it untried, unless it is of no items; a time that is over does not keep it from what
/// it gets without waiting.
///
/// Errors:       what the awaitable throws; cancelled; deadline_exceeded. Of wait_push_many() both
///               as a partial_push_error, which says how many items went in.
/// Cancellation: by a stop or a time as in a task: total; of wait_push_many() partial.
/// Cost:         that of the awaitable; when it waits, the sleep of a thread. A time span reads the
///               clock.
///
/// Queue: the queue, which derives from this. Items, Batch: what it takes and gives for many.
template <class Queue, class Item, class Items, class Batch>
class blocking_operations {
 public:
  /// Adds an item and blocks while the queue is full. Returns true, or false if the queue is
  /// closed; in that case `item` has not been moved from.
  bool wait_push(Item&& item, std::source_location where = std::source_location::current()) {
    return self().block_push(std::move(item), nullptr, where);
  }
  bool wait_push(Item&& item, const wait_limit& limit,
                 std::source_location where = std::source_location::current()) {
    return self().block_push(std::move(item), &limit, where);
  }
  bool wait_push(const Item& item, std::source_location where = std::source_location::current())
    requires std::copy_constructible<Item>
  {
    return self().block_push(item, nullptr, where);
  }
  bool wait_push(const Item& item, const wait_limit& limit,
                 std::source_location where = std::source_location::current())
    requires std::copy_constructible<Item>
  {
    return self().block_push(item, &limit, where);
  }

  /// Removes the next item and blocks while there is none. Returns an empty optional if the queue
  /// is closed and drained.
  std::optional<Item> wait_pop(std::source_location where = std::source_location::current()) {
    return self().block_pop(nullptr, where);
  }
  std::optional<Item> wait_pop(const wait_limit& limit,
                               std::source_location where = std::source_location::current()) {
    return self().block_pop(&limit, where);
  }

  /// Adds all items as one contiguous sequence and blocks whenever the queue is full. Returns the
  /// number of items added. It is less than their number if the queue was closed during the call.
  std::size_t wait_push_many(Items items,
                             std::source_location where = std::source_location::current()) {
    return self().block_push_many(std::move(items), nullptr, where);
  }
  std::size_t wait_push_many(Items items, const wait_limit& limit,
                             std::source_location where = std::source_location::current()) {
    return self().block_push_many(std::move(items), &limit, where);
  }

  /// Removes `count` items and blocks until it has all of them. Returns an empty optional if the
  /// queue was closed with fewer left.
  std::optional<Batch> wait_pop_many(std::size_t count,
                                     std::source_location where = std::source_location::current()) {
    return self().block_pop_many(count, nullptr, where);
  }
  std::optional<Batch> wait_pop_many(std::size_t count, const wait_limit& limit,
                                     std::source_location where = std::source_location::current()) {
    return self().block_pop_many(count, &limit, where);
  }

  /// Like wait_pop_many(), but after close() it returns the remaining items. Returns an empty
  /// optional if the queue is closed and drained.
  std::optional<Batch> wait_pop_up_to(
      std::size_t count, std::source_location where = std::source_location::current()) {
    return self().block_pop_up_to(count, nullptr, where);
  }
  std::optional<Batch> wait_pop_up_to(
      std::size_t count, const wait_limit& limit,
      std::source_location where = std::source_location::current()) {
    return self().block_pop_up_to(count, &limit, where);
  }

 private:
  friend Queue;
  blocking_operations() = default;

  Queue& self() noexcept { return static_cast<Queue&>(*this); }
};

}  // namespace leat
