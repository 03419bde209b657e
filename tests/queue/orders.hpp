#pragma once

// Every order of queues, for tests that apply to all of them. A new order is a struct here and an
// entry of `others`.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <type_traits>

#include "leat/queue.hpp"

namespace queue_orders {

/// The settings of a queue under test. An order ignores those that it does not have.
struct settings {
  std::size_t max_weight = leat::unbounded;
  leat::memory_budget* budget = nullptr;
  std::size_t capacity = 100;
  std::size_t min_after_dequeue = 0;
  std::uint64_t seed = 7;
  std::string name = "q";
};

/// The item that a pop takes next.
enum class next_item { oldest, smallest, any };

// The defaults of an order.
struct common {
  static constexpr bool takes_whole_batches = false;  // true: a waiting batch holds no items
  static constexpr bool has_minimum = false;          // true: has the option min_after_dequeue
  static leat::queue_options options(const settings& s) {
    return {.capacity = s.capacity, .max_weight = s.max_weight, .budget = s.budget, .name = s.name};
  }
};

struct fifo : common {
  template <class T, class Weigh = leat::unweighed, class Less = std::less<T>>
  using queue = leat::fifo_queue<T, Weigh>;
  static constexpr next_item next = next_item::oldest;
};

struct shuffle : common {
  template <class T, class Weigh = leat::unweighed, class Less = std::less<T>>
  using queue = leat::random_shuffle_queue<T, Weigh>;
  static constexpr next_item next = next_item::any;
  static constexpr bool has_minimum = true;
  static leat::shuffle_options options(const settings& s) {
    return {.capacity = s.capacity,
            .min_after_dequeue = s.min_after_dequeue,
            .seed = s.seed,
            .max_weight = s.max_weight,
            .budget = s.budget,
            .name = s.name};
  }
};

struct priority : common {
  template <class T, class Weigh = leat::unweighed, class Less = std::less<T>>
  using queue = leat::priority_queue<T, Less, Weigh>;
  static constexpr next_item next = next_item::smallest;
  static constexpr bool takes_whole_batches = true;
};

// ------------------------------------------------------------------------------------- the lists

using others = std::tuple<shuffle, priority>;
using all = decltype(std::tuple_cat(std::tuple<fifo>(), others()));

template <template <class> class Of, class... Orders>
std::tuple<Of<Orders>...> each_of(std::tuple<Orders...>);
template <class... Orders>
auto holding_of(std::tuple<Orders...>) -> decltype(std::tuple_cat(
    std::conditional_t<Orders::takes_whole_batches, std::tuple<>, std::tuple<Orders>>()...));

/// A template for each order.
template <template <class> class Of>
using each = decltype(each_of<Of>(all()));
/// A template for each order except fifo.
template <template <class> class Of>
using each_other = decltype(each_of<Of>(others()));
/// A template for each order in which a waiting batch takes each item as it arrives.
template <template <class> class Of>
using each_holding = decltype(each_of<Of>(holding_of(all())));

}  // namespace queue_orders
