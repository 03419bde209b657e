#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "leat/async/scheduler/work_item.hpp"
#include "leat/queue/detail/queue_operations.hpp"
#include "leat/queue/detail/queue_storage.hpp"
#include "leat/queue/queue_base.hpp"

namespace LEAT {

template <class Queue>
class tensor_queue;

namespace detail {

/// A queue with its item type: the parts of push and pop that do not wait, and the functions that
/// queue_base calls. basic_queue adds the four forms.
///
/// The calls of a push; a pop is its mirror image:
///
///   1. A form, such as operation_awaiter::await_ready(), calls try_store(). It stores the value
///      inline if no operation waits.
///   2. Otherwise store_after_look() looks at the other side, or moves the value to a waiting pop.
///      The rest is for store_and_match(). It moves the value to the first waiting pop or into the
///      storage, and calls queue_base::match_after_push() if other operations may continue.
///   3. If there is no space, the form calls enqueue_quickly() of the operation or
///      queue_base::begin(), which adds the operation to the wait queue.
///   4. queue_base::match_wait_queues(), after each change, decides which waiting operations
///      continue. It does not know the type of the items, so it calls back here to move them:
///      store_from_push(), move_to_pop() and, for an operation that is cancelled,
///      return_to_storage().
///   5. queue_base::wake_one() or wake_all() wakes these operations after the lock is released.
///
/// So values are moved in this class and in queue_storage only; waiting, closing and statistics
/// are in queue_base and compiled once.
template <class T, class Order, class Weigh>
class typed_queue_base : public queue_base {
 public:
  using value_type = typename element_of_queue<T>::type;

 protected:
  template <class... OrderArguments>
  typed_queue_base(const queue_options& options, std::size_t min_after_dequeue, Weigh weigh,
                   OrderArguments&&... arguments)
      : queue_base(options,
                   {min_after_dequeue, Order::takes_whole_batches, weighs, storage::has_sides}),
        storage_(std::move(weigh), std::forward<OrderArguments>(arguments)...) {
    constexpr std::size_t allocated_at_once = 64 * 1024;  // bytes; a larger queue grows on demand
    constexpr std::size_t item_size = sizeof(stored_item<T, Weigh>);
    if (options.capacity <= allocated_at_once / item_size) reserve_at_least(options.capacity);
  }
  ~typed_queue_base() { storage_.clear(mutex_.left(), mutex_.entered()); }

  using storage = queue_storage<T, Order, Weigh>;
  static constexpr bool weighs = storage::weighs;
  using item_type = typename storage::item_type;
  using push_weights = typename storage::push_weights;
  using batch = typename storage::batch;
  using self = typed_queue_base;
  template <class Value>
  static constexpr bool stores = std::same_as<Value, T>;
  using push_operation = detail::push_operation<self, T*, push_weights>;
  using push_copy_operation = detail::push_operation<self, T, push_weights>;
  using push_many_operation = detail::push_many_operation<self, T, push_weights>;
  using pop_operation = detail::pop_operation<self, T, item_type>;
  using pop_many_operation =
      detail::pop_many_operation<self, T, queue_waiter::role::pop_many, batch>;
  using pop_up_to_operation =
      detail::pop_many_operation<self, T, queue_waiter::role::pop_up_to, batch>;

  // Stores or takes one item if that needs no waiting and overtakes no waiting operation. The
  // inline part serves the usual case, in which the thread owns the lock, no operation waits, and a
  // look at the other side is not due.
  [[gnu::always_inline]] bool try_store(T& value, push_weights& weights) LEAT_NO_ANALYSIS {
    if constexpr (weighs) {
      return try_store_weighed(value, weights);
    } else {
      if (!mutex_.try_lock_as_owner()) [[unlikely]]
        return store_shared(value);
      const std::size_t in = mutex_.entered();
      if (!mutex_.may_add(in, 1)) [[unlikely]]
        return store_after_look(value);
      store_as_owner(value, in);
      return true;
    }
  }

  [[gnu::always_inline]] bool try_take(item_type* to) noexcept LEAT_NO_ANALYSIS {
    if (!mutex_.try_lock_as_owner()) [[unlikely]]
      return take_shared(to);
    const std::size_t out = mutex_.left();
    if (!mutex_.may_remove(out, 1)) [[unlikely]]
      return take_after_look(to);
    take_as_owner(to, out);
    return true;
  }

  // Store or take a whole batch without waiting. Return false, without effect, if an operation
  // waits or the batch does not fit.
  bool try_store_batch([[maybe_unused]] std::span<T> values) {
    bool stored = false;
    if constexpr (storage::has_ranges) {
      const std::size_t count = values.size();
      if (mutex_.try_lock_as_owner()) {
        const std::size_t in = mutex_.entered();
        stored = mutex_.may_add(in, count) || mutex_.extend_back(in, mutex_.left(), count);
        if (stored) [[likely]] {
          storage_.store_range(values.data(), count, in);
          mutex_.publish_entered(in + count);
        }
        mutex_.unlock(true);
      } else if constexpr (storage::has_sides) {
        stored = mutex_.add_at_back(count, [&](std::size_t in) noexcept {
          storage_.store_range(values.data(), count, in);
        });
      }
    }
    return stored;
  }
  bool try_take_batch([[maybe_unused]] batch& to, [[maybe_unused]] std::size_t wanted) noexcept {
    bool taken = false;
    if constexpr (storage::has_ranges) {
      if (mutex_.try_lock_as_owner()) {
        const std::size_t out = mutex_.left();
        taken =
            mutex_.may_remove(out, wanted) || mutex_.extend_front(mutex_.entered(), out, wanted);
        if (taken) [[likely]] {
          storage_.take_range(to, wanted, out);
          mutex_.publish_left(out + wanted);
        }
        mutex_.unlock(true);
      } else if constexpr (storage::has_sides) {
        taken = mutex_.remove_at_front(
            wanted, [&](std::size_t out) noexcept { storage_.take_range(to, wanted, out); });
      }
    }
    return taken;
  }

  void weigh(push_weights& weights, T* items, std::size_t count) {
    storage_.weigh(weights, items, count, [this](std::size_t w) { throw_if_too_heavy(w); });
  }

  template <class PopMany>
  result_of<PopMany> try_batch(PopMany operation) {
    for (std::size_t fit = 0;;) {  // into the batch; more may arrive while it is built
      fit = std::max(fit, std::min(operation.wanted, size()));
      if (PopMany::the_role == queue_waiter::role::pop_many && fit < operation.wanted) return {};
      operation.batch.reserve(fit);
      queue_waiter w(*this, PopMany::the_role, operation.items(), fit);
      if (!attempt(w, operation.wanted)) continue;
      if (operation.batch.empty() && operation.wanted > 0) return {};
      return operation.result(wait_outcome::done);
    }
  }

 private:
  friend queue_operation<self>;
  friend push_operation;
  friend push_copy_operation;
  friend pop_operation;
  friend push_many_operation;
  friend pop_many_operation;
  friend pop_up_to_operation;
  template <class Queue>
  friend class leat::tensor_queue;

  // Store or take one item and leave the section of the owner.
  [[gnu::always_inline]] void store_as_owner(T& value, std::size_t in) noexcept LEAT_NO_ANALYSIS {
    storage_.store(value, 0, in);
    mutex_.publish_entered(in + 1);
    mutex_.unlock(true);
  }
  [[gnu::always_inline]] void take_as_owner(item_type* to,
                                            std::size_t out) noexcept LEAT_NO_ANALYSIS {
    [[maybe_unused]] const std::size_t weight = storage_.take(to, out);
    mutex_.publish_left(out + 1);
    if constexpr (weighs) limits_.count_taken(weight);
    mutex_.unlock(true);
  }

  // The rest of try_store() and try_take(), if several threads use the queue: with the lock of one
  // side, if that suffices.
  [[gnu::noinline]] bool store_shared(T& value) LEAT_NO_ANALYSIS {
    if constexpr (storage::has_sides) {
      if (mutex_.add_at_back(1, [&](std::size_t in) noexcept { storage_.store(value, 0, in); })) {
        return true;
      }
    }
    return store_and_match(value, 0, false);
  }
  [[gnu::noinline]] bool take_shared(item_type* to) noexcept LEAT_NO_ANALYSIS {
    if constexpr (storage::has_sides) {
      if (mutex_.remove_at_front(
              1, [&](std::size_t out) noexcept { static_cast<void>(storage_.take(to, out)); })) {
        return true;
      }
    }
    return take_and_match(to, false);
  }

  // The rest, in the section of the owner, which they leave.
  [[gnu::noinline]] bool store_after_look(T& value) LEAT_NO_ANALYSIS {
    const std::size_t in = mutex_.entered();
    const std::size_t out = mutex_.left();
    const std::size_t n = in - out;
    if (n >= capacity_) {
      mutex_.unlock(true);
      return false;
    }
    if (mutex_.extend_back(in, out, 1)) {
      store_as_owner(value, in);
      return true;
    }
    if constexpr (Order::allows_direct_handoff) {
      queue_waiter* const pop = find_direct_pop(n);
      if (pop && can_store(n)) {
        std::construct_at(static_cast<T*>(pop->items_), std::move(value));
        return complete_pop_as_owner(*pop);
      }
    }
    return store_and_match(value, 0, true);
  }

  [[gnu::noinline]] bool take_after_look(item_type* to) noexcept LEAT_NO_ANALYSIS {
    const std::size_t in = mutex_.entered();
    const std::size_t out = mutex_.left();
    if (pushers_.empty() && mutex_.extend_front(in, out, 1)) {
      take_as_owner(to, out);
      return true;
    }
    if constexpr (weighs) {
      mutex_.unlock(true);  // the lock of a budget comes first
      return take_and_match(to, false);
    } else {
      const std::size_t n = in - out;
      if (n <= min_after_dequeue_) {
        mutex_.unlock(true);
        return false;
      }
      queue_waiter* const push = find_local_push(n - 1);
      if (push && poppers_.empty()) {
        static_cast<void>(storage_.take(to, out));
        storage_.store(*static_cast<T*>(push->items_), 0, in);
        return complete_push_as_owner(*push);
      }
      return take_and_match(to, true);
    }
  }

  // Not inlined into its callers: a weight function is user code.
  template <class Weights>
  [[gnu::noinline]] bool try_store_weighed(T& value, Weights& weights) LEAT_NO_ANALYSIS {
    weigh(weights, &value, 1);
    const std::size_t weight = weights.weight(0);
    if (mutex_.try_lock_as_owner()) {
      const std::size_t in = mutex_.entered();
      if ((mutex_.may_add(in, 1) || mutex_.extend_back(in, mutex_.left(), 1)) &&
          limits_.fit_queue(weight)) {
        storage_.store(value, weight, in);
        mutex_.publish_entered(in + 1);
        limits_.count_stored(weight);
        mutex_.unlock(true);
        return true;
      }
      const bool is_full = size_now() >= capacity_;
      mutex_.unlock(true);  // the lock of a budget comes first
      if (is_full) return false;
    }
    return store_and_match(value, weight, false);
  }

  // `is_owned`: the thread has the lock, as its owner.
  [[gnu::noinline]] bool store_and_match(T& value, [[maybe_unused]] std::size_t weight,
                                         bool is_owned) {
    work_item* woken = nullptr;
    queue_waiter* waiting_pop = nullptr;
    {
      const change_lock lock(*this, weighs, is_owned);
      const std::size_t n = size_now();
      if (!can_store(n) || (weighs && !limits_.can_add(weight))) return false;
      if constexpr (!weighs && Order::allows_direct_handoff) waiting_pop = find_direct_pop(n);
      if (waiting_pop) {
        std::construct_at(static_cast<T*>(waiting_pop->items_), std::move(value));
        complete_pop(*waiting_pop);
      } else {
        reserve_one(n);
        storage_.store(value, weight, mutex_.entered());
        mutex_.add(1);
        if constexpr (weighs) limits_.count_stored(weight);
        if (poppers_.empty()) return true;
        woken = match_after_push();
      }
    }
    if (waiting_pop) {
      wake_one(*waiting_pop);
    } else {
      wake_all(woken);
    }
    return true;
  }

  [[gnu::noinline]] bool take_and_match(item_type* to, bool is_owned) noexcept {
    bool flush = false;
    work_item* woken = nullptr;
    queue_waiter* waiting_push = nullptr;
    {
      const change_lock lock(*this, weighs, is_owned);
      if (!can_take()) return false;
      const std::size_t n = size_now();
      [[maybe_unused]] const std::size_t weight = storage_.take(to, mutex_.left());
      if constexpr (weighs) limits_.count_taken(weight);
      flush = count_taken();
      if constexpr (!weighs) waiting_push = find_direct_push(n - 1);
      if (waiting_push) {
        storage_.store(*static_cast<T*>(waiting_push->items_), 0, mutex_.entered());
        complete_push(*waiting_push);
      } else if (!pushers_.empty() || (weighs && limits_.budget_has_waiters())) {
        woken = match_after_pop();
      }
    }
    if (waiting_push) {
      wake_one(*waiting_push);
    } else {
      wake_all(woken);
    }
    if (flush) flush_held_back();
    return true;
  }

  void weigh(queue_waiter& w) override {
    if constexpr (weighs) {
      auto& weights = *static_cast<weighed_push*>(w.items_);
      weigh(weights, static_cast<T*>(weights.values()), w.count_);
    }
  }
  void store_from_push(queue_waiter& w, std::size_t count) noexcept override {
    storage_.store_from_push(w, count, mutex_.entered());
  }
  std::size_t move_to_pop(queue_waiter& w, std::size_t count) noexcept override {
    return storage_.move_to_pop(w, count, mutex_.left());
  }
  std::size_t return_to_storage(queue_waiter& w) noexcept override {
    return storage_.return_to_storage(w, mutex_.left());
  }
  std::size_t reserve(std::size_t items) override {
    return storage_.reserve(items, mutex_.left(), mutex_.entered());
  }
  [[nodiscard]] std::size_t stored() const noexcept override {
    return storage_.size(mutex_.size());
  }

  storage storage_;
};

}  // namespace detail
}  // namespace LEAT
