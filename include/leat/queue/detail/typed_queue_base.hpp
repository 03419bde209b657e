#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "leat/queue/detail/queue_operations.hpp"
#include "leat/queue/detail/queue_storage.hpp"
#include "leat/queue/queue_base.hpp"

namespace leat {

template <class Queue>
class tensor_queue;

namespace detail {

/// A queue that knows its items: what of push and pop needs no waiting, and what queue_base asks
/// for. The faces are basic_queue's.
template <class T, class Order, class Weigh>
class queue_items : public queue_base {
 public:
  using value_type = typename element_of_queue<T>::type;

 protected:
  template <class... OrderArguments>
  queue_items(const queue_options& options, std::size_t floor, Weigh weigh,
              OrderArguments&&... arguments)
      : queue_base(options, {floor, Order::whole_batches, weighs}),
        storage_(std::move(weigh), std::forward<OrderArguments>(arguments)...) {
    constexpr std::size_t allocated_at_once = 64 * 1024;  // bytes; a larger queue grows on demand
    constexpr std::size_t item_size = sizeof(stored_item<T, Weigh>);
    if (options.capacity <= allocated_at_once / item_size) reserve_at_least(options.capacity);
  }
  ~queue_items() = default;

  using storage = queue_storage<T, Order, Weigh>;
  static constexpr bool weighs = storage::weighs;
  using push_weights = typename storage::push_weights;
  using batch = typename storage::batch;
  using push_verb = detail::push_verb<T, push_weights>;
  using push_copy_verb = detail::push_copy_verb<T, push_weights>;
  using push_many_verb = detail::push_many_verb<T, push_weights>;
  using pop_many_verb = detail::pop_many_verb<T, queue_waiter::role::pop_many, batch>;
  using pop_up_to_verb = detail::pop_many_verb<T, queue_waiter::role::pop_up_to, batch>;

  // Stores or takes one item if that needs no waiting and overtakes nobody. The inline part serves
  // the usual case: the thread that owns the lock, and nobody waits. It also sees when there is
  // nothing to try.
  [[gnu::always_inline]] bool try_store(T& value, push_weights& weights) {
    std::size_t weight = 0;
    if constexpr (weighs) {
      weigh(weights, &value, 1);
      weight = weights.weight(0);
    }
    if (mutex_.try_lock_as_owner()) {
      if (can_store_plainly() && storage_.has_room() && (!weighs || can_add_plainly(weight))) {
        storage_.store(value, weight);
        count_stored();
        if constexpr (weighs) count_weight_stored(weight);
        mutex_.unlock(true);
        return true;
      }
      const bool hopeless = size_ >= capacity_;
      mutex_.unlock(true);
      if (hopeless) return false;
    }
    return store_or_serve(value, weight);
  }

  [[gnu::always_inline]] bool try_take(T* to) noexcept {
    if (mutex_.try_lock_as_owner()) {
      if (can_take_plainly()) {
        [[maybe_unused]] const std::size_t weight = storage_.take(to);
        --size_;
        if constexpr (weighs) count_weight_taken(weight);
        mutex_.unlock(true);
        return true;
      }
      const bool hopeless = !weighs && size_ <= floor_;
      mutex_.unlock(true);
      if (hopeless) return false;
    }
    return take_or_serve(to);
  }

  void weigh(push_weights& weights, T* items, std::size_t count) {
    storage_.weigh(weights, items, count, [this](std::size_t w) { refuse_if_too_heavy(w); });
  }

  template <class PopMany>
  verb_result<PopMany> try_batch(PopMany verb) {
    for (std::size_t fit = 0;;) {  // into the batch; more may come in while it is made
      fit = std::max(fit, std::min(verb.wanted, size()));
      if (PopMany::the_role == queue_waiter::role::pop_many && fit < verb.wanted) return {};
      verb.batch.reserve(fit);
      queue_waiter w(*this, PopMany::the_role, verb.items(), fit);
      if (!attempt(w, verb.wanted)) continue;
      if (verb.batch.empty() && verb.wanted > 0) return {};
      return verb.result(queue_outcome::done, verb.batch.size());
    }
  }

 private:
  friend push_verb;
  friend push_copy_verb;
  friend pop_verb<T>;
  template <class Queue>
  friend class leat::tensor_queue;

  [[gnu::noinline]] bool store_or_serve(T& value, [[maybe_unused]] std::size_t weight) {
    work_list woken;
    queue_waiter* taker = nullptr;
    {
      const change_lock lock(*this, weighs);
      if (!can_store() || (weighs && !can_add(weight))) return false;
      if constexpr (!weighs && Order::may_be_passed_by) taker = pop_that_gets_the_next_item();
      if (taker) {
        std::construct_at(static_cast<T*>(taker->items_), std::move(value));
        hand_to(*taker);
      } else {
        if (!storage_.has_room()) grow_by_one();
        storage_.store(value, weight);
        count_stored();
        if constexpr (weighs) count_weight_stored(weight);
        if (poppers_.empty()) return true;
        woken = serve_after_push();
      }
    }
    if (taker) {
      wake_one(*taker);
    } else {
      wake_all(woken);
    }
    return true;
  }

  [[gnu::noinline]] bool take_or_serve(T* to) noexcept {
    bool flush = false;
    work_list woken;
    queue_waiter* giver = nullptr;
    {
      const change_lock lock(*this, weighs);
      if (!can_take()) return false;
      [[maybe_unused]] const std::size_t weight = storage_.take(to);
      if constexpr (weighs) count_weight_taken(weight);
      flush = count_taken();
      if constexpr (!weighs) giver = push_that_takes_the_last_place();
      if (giver) {
        storage_.store(*static_cast<T*>(giver->items_), 0);
        admit(*giver);
      } else if (!pushers_.empty() || (weighs && budget_is_awaited())) {
        woken = serve_after_pop();
      }
    }
    if (giver) {
      wake_one(*giver);
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
  void accept(queue_waiter& w, std::size_t count) noexcept override { storage_.accept(w, count); }
  std::size_t deliver(queue_waiter& w, std::size_t count) noexcept override {
    return storage_.deliver(w, count);
  }
  std::size_t weigh_taken(const queue_waiter& w) const override { return storage_.weigh_taken(w); }
  std::size_t give_back(queue_waiter& w, std::size_t weight_of_one) noexcept override {
    return storage_.give_back(w, weight_of_one);
  }
  void reserve(std::size_t items) override { storage_.reserve(items); }
  [[nodiscard]] std::size_t stored() const noexcept override { return storage_.size(); }

  storage storage_;
};

}  // namespace detail
}  // namespace leat
