#pragma once

#include <concepts>
#include <cstddef>
#include <utility>

#include "leat/async/loop/block_on.hpp"
#include "leat/async/wait_limit.hpp"

namespace LEAT::detail {

/// The blocking functions of a queue in 0.2, of which block_on() has taken the place.
/// Queue is the queue class, which derives from this class.
template <class Queue>
class blocking_names {
 public:
  template <class Item, std::convertible_to<wait_limit>... Limit>
  [[deprecated("write leat::block_on(queue.push(item), limit)")]] bool wait_push(
      Item&& item, const Limit&... limit) {
    return block_on(self().push(std::forward<Item>(item)), limit...);
  }
  template <std::convertible_to<wait_limit>... Limit>
  [[deprecated("write leat::block_on(queue.pop(), limit)")]] auto wait_pop(const Limit&... limit) {
    return block_on(self().pop(), limit...);
  }
  template <class Items, std::convertible_to<wait_limit>... Limit>
  [[deprecated("write leat::block_on(queue.push_many(items), limit)")]] std::size_t wait_push_many(
      Items&& items, const Limit&... limit) {
    return block_on(self().push_many(std::forward<Items>(items)), limit...);
  }
  template <std::convertible_to<wait_limit>... Limit>
  [[deprecated("write leat::block_on(queue.pop_many(count), limit)")]] auto wait_pop_many(
      std::size_t count, const Limit&... limit) {
    return block_on(self().pop_many(count), limit...);
  }
  template <std::convertible_to<wait_limit>... Limit>
  [[deprecated("write leat::block_on(queue.pop_up_to(count), limit)")]] auto wait_pop_up_to(
      std::size_t count, const Limit&... limit) {
    return block_on(self().pop_up_to(count), limit...);
  }

 private:
  friend Queue;
  blocking_names() = default;

  Queue& self() noexcept { return static_cast<Queue&>(*this); }
};

}  // namespace LEAT::detail
