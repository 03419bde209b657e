#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <optional>
#include <source_location>
#include <span>
#include <utility>
#include <vector>

#include <asio/async_result.hpp>

#include "leat/queue/blocking_operations.hpp"
#include "leat/queue/detail/initiate.hpp"
#include "leat/queue/detail/owned_items.hpp"
#include "leat/queue/detail/queue_awaiter.hpp"
#include "leat/queue/detail/queue_operations.hpp"
#include "leat/queue/detail/queue_select_branch.hpp"
#include "leat/queue/detail/raw_storage.hpp"
#include "leat/queue/detail/typed_queue_base.hpp"
#include "leat/queue/partial_push_error.hpp"
#include "leat/queue/queue_base.hpp"

namespace leat {

/// The queue contract: what fifo_queue, random_shuffle_queue and the others have in common.
///
/// A bounded queue between tasks, threads and Asio handlers, on any schedulers. Each operation has
/// four forms, which mix freely: an awaitable for leat tasks and other coroutines that run on a
/// leat scheduler (`co_await q.pop()`), an Asio initiating function (`q.async_pop(token)`), one
/// that never waits (`q.try_pop()`) and one that blocks an OS thread (`q.wait_pop()`).
///
/// A thread that blocks must not be one that has to serve it: in a task that is a caught
/// precondition, in a handler of the same io_context a deadlock.
///
/// Order of service: on each side first come, first served, for any number of items. The first
/// waiting operation blocks later ones; a try_ operation never overtakes a waiting one.
///
/// No element is lost or doubled: an operation that is cancelled, or whose coroutine is destroyed
/// while it waits, leaves all as if it had never begun (push_many: what is in stays in).
///
/// After close() items go in no more; what is inside drains, then pops end empty. After fail(cause)
/// the same, except that then they throw the cause. A queue is never opened again.
///
/// In every form, an operation on no items succeeds immediately: also on a queue that is closed or
/// has failed, after a stop request, and after the deadline.
///
/// The queue must outlive its operations; its destructor asserts that nobody waits.
///
/// With a weigher the queue is also bounded by what its items weigh, and may share a memory_budget
/// with others. A push then waits for free capacity by count and by weight, and while the first one
/// waits, so do lighter ones after it. Every form rejects an item heavier than max_weight or the
/// budget immediately with errc::resource_exhausted and moves nothing; of a sequence with such an
/// item, none is added. Items that a waiting batch holds no longer count in the queue, also by
/// weight; if the batch returns them, they may exceed all limits.
///
/// Thread safety: thread-safe. A waiter is resumed on its own scheduler, never inside the call that
/// lets it go on; that of a push may come late, until its queue has drained to half or the turn of
/// the popping task ends.
/// Cost: O(1) an item and no allocation, apart from the growth of the storage up to the capacity
/// and what batches that wait may hold.
template <class T, class Order, queue_weigher<T> Weigh = unweighed>
class basic_queue
    : public detail::typed_queue_base<T, Order, Weigh>,
      public blocking_operations<basic_queue<T, Order, Weigh>, T, std::span<T>, std::vector<T>> {
  using base = detail::typed_queue_base<T, Order, Weigh>;
  using typename base::pop_many_operation;
  using typename base::pop_up_to_operation;
  using typename base::push_copy_operation;
  using typename base::push_many_operation;
  using typename base::push_operation;
  using typename base::push_weights;

 public:
  using value_type = T;

  // ---- One item.

  /// Adds an item and waits while the queue is full. Returns true, or false if the queue is closed;
  /// in that case `value` has not been moved from.
  ///
  /// `value` must live until the operation has completed; in `co_await q.push(...)` it does. Do not
  /// return a push, or a push with a timeout, from a function that owns the value.
  ///
  /// Errors:       cancelled; the error passed to fail(); std::bad_alloc. With a weigher also
  ///               resource_exhausted for an item that is too heavy, and the weigher's exceptions.
  /// Cancellation: total: a cancelled push added nothing and moved nothing.
  /// TensorFlow:   QueueBase.enqueue.
  [[nodiscard]] auto push(T&& value, std::source_location where = std::source_location::current()) {
    return awaiter<push_operation>(*this, where, &value);
  }

  /// Adds a copy of `value`, which the operation owns.
  [[nodiscard]] auto push(const T& value,
                          std::source_location where = std::source_location::current())
    requires std::copy_constructible<T>
  {
    return awaiter<push_copy_operation>(*this, where, value);
  }

  /// Removes the next item and waits while there is none. Returns the item, or an empty optional if
  /// the queue is closed and drained.
  ///
  /// Errors:       cancelled; after the last item, the error passed to fail().
  /// Cancellation: total: a cancelled pop removed nothing.
  /// TensorFlow:   QueueBase.dequeue.
  [[nodiscard]] auto pop(std::source_location where = std::source_location::current()) noexcept {
    return awaiter<detail::pop_operation<T>>(*this, where);
  }

  /// Adds an item if that does not need to wait. Returns false if the queue is full or closed, or
  /// if other pushes wait; in that case `value` has not been moved from. Errors: as push().
  [[nodiscard]] bool try_push(T&& value) {
    push_weights weights;
    return this->try_store(value, weights);
  }
  [[nodiscard]] bool try_push(const T& value)
    requires std::copy_constructible<T>
  {
    return try_push(T(value));
  }

  /// Removes the next item if that does not need to wait; else returns an empty optional.
  [[nodiscard]] std::optional<T> try_pop() noexcept {
    detail::raw_storage<T> slot;
    if (!this->try_take(slot.get())) return std::nullopt;
    return slot.take();
  }

  /// push() for Asio. The operation owns the value and destroys it if it was not added. To keep the
  /// value in that case, use async_push_many() with one item.
  ///
  /// Completion:   void(std::error_code, bool), on the handler's executor, never inside this call
  ///               or another one on the queue. A handler without an executor completes on Asio's
  ///               system executor, which is a thread pool.
  /// Errors:       asio::error::operation_aborted (== errc::cancelled); the code of the error
  ///               passed to fail(); errc::resource_exhausted for std::bad_alloc.
  /// Cancellation: total, through the handler's cancellation slot.
  template <asio::completion_token_for<void(std::error_code, bool)> Token>
  auto async_push(T value, Token&& token,
                  std::source_location where = std::source_location::current()) {
    return detail::initiate<push_copy_operation>(*this, where, std::forward<Token>(token),
                                                 std::move(value));
  }

  /// pop() for Asio; see async_push().
  ///
  /// Completion:   void(std::error_code, std::optional<T>)
  /// Cancellation: total until the handler is called: an item that was removed already is returned
  ///               to the queue, so that none is lost if Asio composes operations, as in
  ///               `pop || timer`.
  template <asio::completion_token_for<void(std::error_code, std::optional<T>)> Token>
  auto async_pop(Token&& token, std::source_location where = std::source_location::current()) {
    return detail::initiate<detail::pop_operation<T>>(*this, where, std::forward<Token>(token));
  }

  // ---- Many items.

  /// Adds all items as one contiguous sequence and waits whenever the queue is full. There may be
  /// more items than the capacity. Returns the number of items added. It is less than
  /// `items.size()` if the queue was closed during the call. Only added items are moved from. An
  /// empty sequence always succeeds immediately, also after a stop request.
  ///
  /// Errors:       cancelled, as a partial_push_error with the number of items added; the error
  ///               passed to fail(), as a partial_push_error if some items were added before.
  /// Cancellation: partial: items added before remain in the queue, and no more are added.
  /// TensorFlow:   QueueBase.enqueue_many.
  [[nodiscard]] auto push_many(std::span<T> items,
                               std::source_location where = std::source_location::current()) {
    return awaiter<push_many_operation>(*this, where, items);
  }

  /// Adds items that the operation owns: a list in braces, a copy of a constant range, or a vector
  /// that is moved in.
  ///
  ///     co_await numbers.push_many({1, 2, n});
  ///
  /// Cost: the memory for a list or a copy.
  [[nodiscard]] auto push_many(detail::owned_items<T> items,
                               std::source_location where = std::source_location::current())
    requires(!std::same_as<T, bool>)  // a vector of which is no array
  {
    return awaiter<detail::push_owned_operation<T, push_many_operation>>(*this, where,
                                                                         std::move(items).take());
  }

  /// Removes `count` items and waits until it has all of them. `count` may be more than the
  /// capacity: items are taken and held as they arrive. Returns an empty optional if the queue was
  /// closed with fewer left; these remain in the queue. With a count of 0 it always returns an
  /// empty batch immediately, also after a stop request.
  ///
  /// Errors:       cancelled; the error passed to fail(); std::bad_alloc for a batch too large.
  /// Cancellation: total: the items that it holds return to their positions in the queue, above the
  ///               capacity if others have filled the queue meanwhile.
  /// TensorFlow:   QueueBase.dequeue_many.
  [[nodiscard]] auto pop_many(std::size_t count,
                              std::source_location where = std::source_location::current()) {
    return awaiter<pop_many_operation>(*this, where, count);
  }

  /// Like pop_many(), but after close() it returns the remaining items, so the last batch may be
  /// smaller. Returns an empty optional if the queue is closed and drained.
  ///
  /// TensorFlow: QueueBase.dequeue_up_to.
  [[nodiscard]] auto pop_up_to(std::size_t count,
                               std::source_location where = std::source_location::current()) {
    return awaiter<pop_up_to_operation>(*this, where, count);
  }

  /// Adds as many items as possible without waiting, as one sequence, and returns their number. It
  /// is 0 if the queue is full or closed, or if other pushes wait. The other items are not moved
  /// from. Errors: as push().
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

  /// Removes `count` items if that does not need to wait; else none, and returns an empty optional.
  /// Errors: std::bad_alloc.
  [[nodiscard]] std::optional<std::vector<T>> try_pop_many(std::size_t count) {
    return this->try_batch(pop_many_operation{count});
  }

  /// Removes the available items, up to `count`, from an open or closed queue. Returns an empty
  /// optional if none can be removed without waiting. Errors: std::bad_alloc.
  [[nodiscard]] std::optional<std::vector<T>> try_pop_up_to(std::size_t count) {
    return this->try_batch(pop_up_to_operation{count});
  }

  /// push_many() for Asio; see async_push(). `items` must live until the handler is called.
  ///
  /// Completion:   void(std::error_code, std::size_t): the number of items added, also with an
  ///               error.
  /// Cancellation: partial, as in push_many(). A cancellation of type `total` alone has an effect
  ///               only before the first item was added.
  template <asio::completion_token_for<void(std::error_code, std::size_t)> Token>
  auto async_push_many(std::span<T> items, Token&& token,
                       std::source_location where = std::source_location::current()) {
    return detail::initiate<push_many_operation>(*this, where, std::forward<Token>(token), items);
  }

  /// pop_many() for Asio; see async_push().
  ///
  /// Completion: void(std::error_code, std::optional<std::vector<T>>)
  template <asio::completion_token_for<void(std::error_code, std::optional<std::vector<T>>)> Token>
  auto async_pop_many(std::size_t count, Token&& token,
                      std::source_location where = std::source_location::current()) {
    return detail::initiate<pop_many_operation>(*this, where, std::forward<Token>(token), count);
  }

  /// pop_up_to() for Asio; see async_push().
  ///
  /// Completion: void(std::error_code, std::optional<std::vector<T>>)
  template <asio::completion_token_for<void(std::error_code, std::optional<std::vector<T>>)> Token>
  auto async_pop_up_to(std::size_t count, Token&& token,
                       std::source_location where = std::source_location::current()) {
    return detail::initiate<pop_up_to_operation>(*this, where, std::forward<Token>(token), count);
  }

  // ---- wait_push(), wait_pop(), ..., for OS threads: see blocking_operations.

  // ---- close(), close_and_cancel(), fail(), size(), statistics(), ...: see queue_base.

 protected:
  template <class... OrderArguments>
  basic_queue(const queue_options& options, std::size_t min_after_dequeue, Weigh weigh,
              OrderArguments&&... arguments)
      : base(options, min_after_dequeue, std::move(weigh),
             std::forward<OrderArguments>(arguments)...) {}
  ~basic_queue() = default;

 private:
  template <class Operation>
  using awaiter = detail::queue_awaiter<basic_queue, Operation>;
  template <class Queue>
  friend class tensor_queue;

  // What the blocking operations do.
  friend blocking_operations<basic_queue, T, std::span<T>, std::vector<T>>;
  template <class Operation>
  using blocking = detail::blocking_queue_call<basic_queue, Operation>;
  using location = std::source_location;
  bool block_push(T&& value, const wait_limit* limit, const location& where) {
    return blocking<push_operation>::run(*this, limit, where, &value);
  }
  bool block_push(const T& value, const wait_limit* limit, const location& where) {
    return blocking<push_copy_operation>::run(*this, limit, where, value);
  }
  auto block_pop(const wait_limit* limit, const location& where) {
    return blocking<detail::pop_operation<T>>::run(*this, limit, where);
  }
  auto block_push_many(std::span<T> items, const wait_limit* limit, const location& where) {
    return blocking<push_many_operation>::run(*this, limit, where, items);
  }
  auto block_pop_many(std::size_t count, const wait_limit* limit, const location& where) {
    return blocking<pop_many_operation>::run(*this, limit, where, count);
  }
  auto block_pop_up_to(std::size_t count, const wait_limit* limit, const location& where) {
    return blocking<pop_up_to_operation>::run(*this, limit, where, count);
  }
};

}  // namespace leat
