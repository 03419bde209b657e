#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <optional>
#include <source_location>
#include <span>
#include <utility>
#include <vector>

#include "leat/async/operation/forms.hpp"
#include "leat/base/asio.hpp"
#include "leat/queue/detail/blocking_names.hpp"
#include "leat/queue/detail/owned_items.hpp"
#include "leat/queue/detail/queue_operations.hpp"
#include "leat/queue/detail/typed_queue_base.hpp"
#include "leat/queue/partial_push_error.hpp"
#include "leat/queue/queue_base.hpp"
#include "leat/queue/timed_batch_operations.hpp"

#include LEAT_ASIO(async_result.hpp)

namespace LEAT {

/// Base class of the bounded queues: fifo_queue, random_shuffle_queue, priority_queue and others.
///
/// A queue passes items between tasks, Asio handlers and threads, on any schedulers. Each
/// operation has four forms, which you can mix on one queue:
///
/// - `co_await q.pop()` suspends a leat task or another coroutine on a leat scheduler.
/// - `q.async_pop(token)` accepts any Asio completion token.
/// - `q.try_pop()` never waits.
/// - `leat::block_on(q.pop())` blocks an OS thread. Do not call it on a thread that runs a
///   scheduler: in a task it is a precondition violation, and in another handler of the scheduler's
///   io_context it can cause a deadlock.
///
/// Closing: close() rejects later pushes. The remaining items are still delivered; then pops return
/// an empty result. They wait as long as another pop may still return an item: a pop in a select()
/// next to an operation that cannot be undone, or an async_ pop with a cancellation slot. After
/// fail(error), pushes throw `error`, and so do pops once all items have been removed; the try_
/// forms do not throw it. A closed queue cannot be reopened.
///
/// Order of service: first come, first served among pushes and among pops, regardless of the
/// number of items. The first waiting operation blocks later ones. A try_ operation never
/// overtakes a waiting operation.
///
/// Cancellation: an operation that is cancelled, or whose coroutine is destroyed while it waits,
/// has no effect, so no item is lost or duplicated. The exception is push_many(): items that it
/// has added stay in the queue.
///
/// Zero items: pushing an empty range or popping a batch of 0 always succeeds immediately. This
/// holds for all four forms, even if the queue is closed or has failed, after a stop request and
/// after the deadline.
///
/// Weight: with a weight function, the queue also limits the total weight of its items and can
/// share a memory_budget with other queues. A push waits for free capacity by count and by weight;
/// while it waits, it also blocks later pushes of lighter items. Every form immediately rejects an
/// item that exceeds max_weight or the budget, with errc::resource_exhausted, and moves nothing; a
/// push_many() that contains such an item adds nothing. Items that a waiting pop_many() or
/// pop_up_to() holds do not count towards the size and weight of the queue. If they return to the
/// queue, it may exceed every limit.
///
/// Lifetime: the queue must outlive its operations. The destructor asserts that none is waiting.
///
/// Thread safety: thread-safe. A suspended operation resumes on its own scheduler, never inside the
/// call that woke it. Waking a producer on another scheduler may be delayed until the queue has
/// drained to half of its capacity or the consumer's scheduler ends its loop iteration.
/// Cost: O(1) per item. Allocates only to grow the storage up to the capacity, for the items of a
/// batch, and for the items that a waiting pop_many() or pop_up_to() may hold.
template <class T, class Order, queue_weigher<T> Weigh = unweighed>
class basic_queue : public detail::typed_queue_base<T, Order, Weigh>,
                    public detail::blocking_names<basic_queue<T, Order, Weigh>>,
                    public timed_batch_operations<basic_queue<T, Order, Weigh>, T> {
  using base = detail::typed_queue_base<T, Order, Weigh>;
  using typename base::pop_many_operation;
  using typename base::pop_operation;
  using typename base::pop_up_to_operation;
  using typename base::push_copy_operation;
  using typename base::push_many_operation;
  using typename base::push_operation;
  using typename base::push_weights;

 public:
  using value_type = T;

  // ---- One item.

  /// Adds an item, waiting while the queue is full.
  ///
  /// Returns true, or false if the queue is closed; in that case `value` has not been moved from.
  ///
  /// `value` must live until the operation completes, as it does in `co_await q.push(...)`. Do not
  /// return a push, or a push with a timeout, from a function that owns the value.
  ///
  /// Errors:       cancelled; the error passed to fail(); std::bad_alloc. With a weight function
  ///               also resource_exhausted, for an item that can never fit, and any exception of
  ///               the function.
  /// Cancellation: total: a cancelled push adds nothing and does not move from `value`.
  /// TensorFlow:   QueueBase.enqueue.
  [[nodiscard]] awaits<bool> auto push(
      T&& value, std::source_location where = std::source_location::current()) {
    return await_operation<push_operation>(where, this, &value);
  }

  /// Overload that adds a copy of `value`. The operation owns the copy.
  [[nodiscard]] awaits<bool> auto push(const T& value,
                                       std::source_location where = std::source_location::current())
    requires std::copy_constructible<T>
  {
    return await_operation<push_copy_operation>(where, this, value);
  }

  /// Removes the next item, waiting while the queue is empty.
  ///
  /// Returns the item, or an empty optional once the queue is closed and all items have been
  /// removed.
  ///
  /// Errors:       cancelled; the error passed to fail(), once all items have been removed.
  /// Cancellation: total: a cancelled pop removes nothing.
  /// TensorFlow:   QueueBase.dequeue.
  [[nodiscard]] awaits<std::optional<T>> auto pop(
      std::source_location where = std::source_location::current()) noexcept {
    return await_operation<pop_operation>(where, this);
  }

  /// Adds an item without waiting. Returns true, or false if the queue is full or closed or if
  /// other pushes are waiting; in that case `value` has not been moved from.
  ///
  /// Errors: std::bad_alloc. With a weight function also its errors, as in push().
  [[nodiscard]] bool try_push(T&& value) {
    push_weights weights;
    if (this->try_store(value, weights)) [[likely]]
      return true;
    this->count_refused();
    return false;
  }
  [[nodiscard]] bool try_push(const T& value)
    requires std::copy_constructible<T>
  {
    return try_push(T(value));
  }

  /// Removes the next item without waiting. Returns the item, or an empty optional if the queue is
  /// empty or if other pops are waiting.
  [[nodiscard]] std::optional<T> try_pop() noexcept {
    pop_operation operation{this};
    if (!operation.try_complete({})) return std::nullopt;
    return operation.result(wait_outcome::done);
  }

  /// Adds an item like push(), with an Asio completion token. The operation owns the value and
  /// destroys it if it was not added. To keep the value in that case, use async_push_many() with
  /// one item.
  ///
  /// Completion:   void(asio_error_code, bool), on the handler's executor, never inside this call
  ///               or another call on the queue. A handler without an executor completes on Asio's
  ///               system executor, which is a thread pool.
  /// Errors:       asio::error::operation_aborted (== errc::cancelled); the code of the error
  ///               passed to fail(); errc::resource_exhausted for std::bad_alloc.
  /// Cancellation: total, through the handler's cancellation slot.
  template <asio::completion_token_for<void(asio_error_code, bool)> Token>
  auto async_push(T value, Token&& token,
                  std::source_location where = std::source_location::current()) {
    return initiate<push_copy_operation>(where, std::forward<Token>(token), this, std::move(value));
  }

  /// Removes the next item like pop(), with an Asio completion token; see async_push().
  ///
  /// Completion:   void(asio_error_code, std::optional<T>)
  /// Errors:       those of async_push(). With a cancellation slot also resource_exhausted, without
  ///               effect, if there is no memory to return the item.
  /// Cancellation: total until the handler is called. An item that the pop has already removed
  ///               returns to the queue, so composed operations such as `pop || timer` lose none.
  template <asio::completion_token_for<void(asio_error_code, std::optional<T>)> Token>
  auto async_pop(Token&& token, std::source_location where = std::source_location::current()) {
    return initiate<pop_operation>(where, std::forward<Token>(token), this);
  }

  // ---- Many items.

  /// Adds all `items` as one contiguous sequence, waiting for free capacity as often as needed. The
  /// sequence may be longer than the capacity.
  ///
  /// Returns the number of items added. It is less than `items.size()` only if the queue was closed
  /// before all items were added. Added items have been moved from; the others have not.
  ///
  /// Errors:       cancelled, as a partial_push_error with the number of items added. The error
  ///               passed to fail(); if some items were added first, a partial_push_error with that
  ///               error. Also the other errors of push().
  /// Cancellation: partial: items already added stay in the queue.
  /// TensorFlow:   QueueBase.enqueue_many.
  [[nodiscard]] awaits<std::size_t> auto push_many(
      std::span<T> items, std::source_location where = std::source_location::current()) {
    return await_operation<push_many_operation>(where, this, items);
  }

  /// Overload for items that the operation owns: a list in braces, a copy of a constant range, or a
  /// vector that is moved in.
  ///
  ///     co_await numbers.push_many({1, 2, n});
  ///
  /// Cost: allocates memory for a list or a copy.
  [[nodiscard]] awaits<std::size_t> auto push_many(
      detail::owned_items<T> items, std::source_location where = std::source_location::current())
    requires(!std::same_as<T, bool>)  // std::vector<bool> is not contiguous
  {
    return await_operation<detail::push_owned_operation<T, push_many_operation>>(
        where, this, std::move(items).take());
  }

  /// Removes `count` items, waiting until it has all of them. `count` may exceed the capacity,
  /// because the operation removes items as they arrive and holds them.
  ///
  /// Returns the items, or an empty optional if the queue is closed and has fewer than `count`
  /// items left; these stay in the queue.
  ///
  /// Errors:       cancelled; the error passed to fail(), if fewer than `count` items are left;
  ///               std::bad_alloc for a batch that is too large.
  /// Cancellation: total: the items that the operation holds return to their positions in the
  ///               queue, even above the capacity if pushes have filled the queue since.
  /// TensorFlow:   QueueBase.dequeue_many.
  [[nodiscard]] awaits<std::optional<std::vector<T>>> auto pop_many(
      std::size_t count, std::source_location where = std::source_location::current()) {
    return await_operation<pop_many_operation>(where, this, count);
  }

  /// Overload that reuses the memory of `reused`, such as the previous batch. The call moves from
  /// `reused` and destroys its items. If its capacity suffices, the operation allocates no memory
  /// for the items.
  ///
  ///     std::vector<T> memory;
  ///     while (auto batch = co_await q.pop_many(64, std::move(memory))) {
  ///       use(*batch);
  ///       memory = std::move(*batch);
  ///     }
  ///
  /// An operation that returns an empty optional or throws frees this memory.
  [[nodiscard]] awaits<std::optional<std::vector<T>>> auto pop_many(
      std::size_t count, std::vector<T>&& reused,
      std::source_location where = std::source_location::current()) {
    return await_operation<pop_many_operation>(where, this, count, emptied(std::move(reused)));
  }

  /// Removes `count` items like pop_many(), or the remaining items if the queue is closed.
  ///
  /// Returns the items, or an empty optional once the queue is closed and all items have been
  /// removed.
  ///
  /// Errors: like pop_many(), but throws the error passed to fail() only once all items have been
  /// removed.
  ///
  /// TensorFlow: QueueBase.dequeue_up_to.
  [[nodiscard]] awaits<std::optional<std::vector<T>>> auto pop_up_to(
      std::size_t count, std::source_location where = std::source_location::current()) {
    return await_operation<pop_up_to_operation>(where, this, count);
  }

  /// Overload that reuses the memory of `reused`: see pop_many().
  [[nodiscard]] awaits<std::optional<std::vector<T>>> auto pop_up_to(
      std::size_t count, std::vector<T>&& reused,
      std::source_location where = std::source_location::current()) {
    return await_operation<pop_up_to_operation>(where, this, count, emptied(std::move(reused)));
  }

  /// Adds as many items as possible without waiting, from the first on, as one contiguous sequence.
  /// Returns the number of items added, which is 0 if the queue is full or closed or if other
  /// pushes are waiting. The remaining items are not moved from.
  ///
  /// Errors: like try_push().
  [[nodiscard]] std::size_t try_push_many(std::span<T> items) {
    push_weights weights;
    detail::queue_waiter w(*this, detail::queue_waiter::role::push, weights.attach(items.data()),
                           items.size());
    static_cast<void>(this->attempt(w, w.count_));
    return w.moved_;
  }
  /// Overload for a list in braces, or a copy of a constant range.
  [[nodiscard]] std::size_t try_push_many(detail::owned_items<T> items)
    requires(!std::same_as<T, bool>)
  {
    std::vector<T> items_to_push = std::move(items).take();
    return try_push_many(std::span<T>(items_to_push));
  }

  /// Removes `count` items without waiting. Returns the items, or an empty optional if fewer than
  /// `count` are available or other pops are waiting. In that case it removes none.
  ///
  /// Errors: std::bad_alloc.
  [[nodiscard]] std::optional<std::vector<T>> try_pop_many(std::size_t count) {
    return this->try_batch(pop_many_operation{this, count});
  }

  /// Removes the available items, up to `count`, from an open or closed queue. Returns the items,
  /// or an empty optional if none is available or if other pops are waiting.
  ///
  /// Errors: std::bad_alloc.
  [[nodiscard]] std::optional<std::vector<T>> try_pop_up_to(std::size_t count) {
    return this->try_batch(pop_up_to_operation{this, count});
  }

  /// Adds all items like push_many(), with an Asio completion token; see async_push(). `items` must
  /// live until the handler is called.
  ///
  /// Completion:   void(asio_error_code, std::size_t): the number of items added, even if there is
  ///               an error.
  /// Cancellation: partial, as in push_many(). A cancellation that is only of type `total` has an
  ///               effect only before the first item is added.
  template <asio::completion_token_for<void(asio_error_code, std::size_t)> Token>
  auto async_push_many(std::span<T> items, Token&& token,
                       std::source_location where = std::source_location::current()) {
    return initiate<push_many_operation>(where, std::forward<Token>(token), this, items);
  }

  /// Removes `count` items like pop_many(), with an Asio completion token; see async_push().
  ///
  /// Completion: void(asio_error_code, std::optional<std::vector<T>>)
  template <asio::completion_token_for<void(asio_error_code, std::optional<std::vector<T>>)> Token>
  auto async_pop_many(std::size_t count, Token&& token,
                      std::source_location where = std::source_location::current()) {
    return initiate<pop_many_operation>(where, std::forward<Token>(token), this, count);
  }

  /// Removes up to `count` items like pop_up_to(), with an Asio completion token; see async_push().
  ///
  /// Completion: void(asio_error_code, std::optional<std::vector<T>>)
  template <asio::completion_token_for<void(asio_error_code, std::optional<std::vector<T>>)> Token>
  auto async_pop_up_to(std::size_t count, Token&& token,
                       std::source_location where = std::source_location::current()) {
    return initiate<pop_up_to_operation>(where, std::forward<Token>(token), this, count);
  }

  // ---- pop_within(): see timed_batch_operations.

  // ---- close(), close_and_cancel(), fail(), size(), statistics(), ...: see queue_base.

 protected:
  template <class... OrderArguments>
  basic_queue(const queue_options& options, std::size_t min_after_dequeue, Weigh weigh,
              OrderArguments&&... arguments)
      : base(options, min_after_dequeue, std::move(weigh),
             std::forward<OrderArguments>(arguments)...) {}
  ~basic_queue() = default;

 private:
  template <class Queue>
  friend class tensor_queue;
  friend timed_batch_operations<basic_queue, T>;

  // Destroys the items and keeps the memory.
  static std::vector<T>&& emptied(std::vector<T>&& reused) noexcept {
    reused.clear();
    return std::move(reused);
  }
};

}  // namespace LEAT
