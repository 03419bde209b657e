#pragma once

// Every kind of queue and every operation, for tests that apply to all of them.

#include <atomic>
#include <tuple>
#include <type_traits>

#include "leat/queue.hpp"
#include "queue/operation/queue_tasks.hpp"
#include "queue/orders.hpp"
#include "queue/tensors.hpp"
#include "support/effort.hpp"
#include "support/leat_test.hpp"

namespace queue_kinds {

using leat::tensor_tuple;

// ------------------------------------------------------------------------------------ the queues

constexpr std::size_t capacity = 4;
constexpr std::size_t run_length = 6;    // more than the capacity
constexpr std::size_t batch_length = 3;  // less than the capacity

template <class Order, class Weigh = leat::unweighed>
struct of_numbers {
  using queue = typename Order::template queue<int, Weigh>;
  using item = int;
  using run = std::vector<int>;
  static queue make() { return queue(Order::options({.capacity = capacity})); }
  static item make_item() { return 7; }
  static run make_run() { return run(run_length, 7); }
  static std::size_t count(const std::vector<int>& batch) { return batch.size(); }
};

template <class Queue, leat::dtype type>
struct of_tensors {
  using queue = Queue;
  using item = tensor_tuple;
  using run = tensor_tuple;
  static queue make() { return queue(spec_of(type, {}), capacity, "q"); }
  static item make_item() { return item(leat::tensor(type, {})); }
  static run make_run() { return run(leat::tensor(type, {run_length})); }
  static std::size_t count(const tensor_tuple& batch) {
    return static_cast<std::size_t>(batch[0].shape()[0]);
  }
};

template <class Order>
using plain_numbers = of_numbers<Order>;
using padding = of_tensors<leat::padding_fifo_queue, leat::dtype::int32>;
using tensor_priority = of_tensors<leat::tensor_priority_queue, leat::dtype::int64>;

using fifos = std::tuple<of_numbers<queue_orders::fifo>, padding>;
using other_kinds = decltype(std::tuple_cat(queue_orders::each_other<plain_numbers>(),
                                            std::tuple<tensor_priority>()));
using all_kinds = decltype(std::tuple_cat(fifos(), other_kinds()));

// ------------------------------------------------------------------------------------- the verbs

// A verb starts an operation, which a task awaits or a thread passes to block_on(). It defines
// whether the operation pushes and the number of items that it moves. The items outlive the
// operation.

template <class Kind>
struct with_items {
  typename Kind::item item = Kind::make_item();
  typename Kind::run run = Kind::make_run();
};

struct push {
  static constexpr bool puts_in = true;
  static constexpr std::size_t moves = 1;
  template <class Kind>
  static auto start(typename Kind::queue& q, with_items<Kind>& with) {
    return q.push(std::move(with.item));
  }
  template <class Kind>
  static std::size_t moved(bool in) {
    return in ? 1 : 0;
  }
};

struct push_copy : push {
  template <class Kind>
  static auto start(typename Kind::queue& q, const with_items<Kind>& with) {
    return q.push(with.item);
  }
};

struct push_many {
  static constexpr bool puts_in = true;
  static constexpr std::size_t moves = run_length;
  template <class Kind>
  static auto start(typename Kind::queue& q, with_items<Kind>& with) {
    return q.push_many(with.run);
  }
  template <class Kind>
  static std::size_t moved(std::size_t count) {
    return count;
  }
};

struct pop {
  static constexpr bool puts_in = false;
  static constexpr std::size_t moves = 1;
  template <class Kind>
  static auto start(typename Kind::queue& q, with_items<Kind>&) {
    return q.pop();
  }
  template <class Kind>
  static std::size_t moved(const std::optional<typename Kind::item>& item) {
    return item ? 1 : 0;
  }
};

struct takes_a_batch {
  static constexpr bool puts_in = false;
  static constexpr std::size_t moves = batch_length;
  template <class Kind, class Batch>
  static std::size_t moved(const std::optional<Batch>& batch) {
    return batch ? Kind::count(*batch) : 0;
  }
};

struct pop_many : takes_a_batch {
  template <class Kind>
  static auto start(typename Kind::queue& q, with_items<Kind>&) {
    return q.pop_many(batch_length);
  }
};

struct pop_up_to : takes_a_batch {
  template <class Kind>
  static auto start(typename Kind::queue& q, with_items<Kind>&) {
    return q.pop_up_to(batch_length);
  }
};

// ---------------------------------------------------------------------------------- an operation

// An operation that has to wait for its queue, which is full for a push and empty for a pop. Stores
// the result, for which another thread may wait.
template <class Combination>
struct waiting_operation {
  using kind = typename Combination::kind;
  using verb = typename Combination::verb;
  static constexpr bool in_parts = std::is_same_v<verb, push_many>;

  waiting_operation() {
    if (verb::puts_in) fill();
  }

  void fill() {
    while (q.try_push(kind::make_item())) {
    }
  }
  void empty() {
    while (q.try_pop()) {
    }
  }
  // Lets the operation complete without a wait, unless it exceeds the capacity.
  void make_way() { verb::puts_in ? empty() : fill(); }
  // Lets the operation move one item.
  [[nodiscard]] bool help() {
    return verb::puts_in ? q.try_pop().has_value() : q.try_push(kind::make_item());
  }
  [[nodiscard]] std::size_t waiting() const {
    return q.statistics().waiting_pushes + q.statistics().waiting_pops;
  }

  void note(std::error_code e, std::size_t count) {
    ec = e;
    moved = count;
    ended = true;
  }
  // Checks that the operation had no effect, except that a push_many keeps the `helped` items
  // added.
  void is_undone(errc code, std::size_t helped) const {
    CHECK(ended);
    CHECK(ec == leat::make_error_code(code));
    CHECK(moved == (in_parts ? helped : 0));
    CHECK(waiting() == 0);
    CHECK(q.size() == (!verb::puts_in ? helped : in_parts ? capacity : capacity - helped));
  }

  typename kind::queue q = kind::make();
  with_items<kind> with;
  std::atomic<bool> ended{false};
  std::error_code ec;
  std::size_t moved = 0;
};

// ------------------------------------------------------------------------------------- the matrix

template <class Kind, class Verb>
struct combination {
  using kind = Kind;
  using verb = Verb;
};
template <class Kind>
using with_every_verb =
    std::tuple<combination<Kind, push>, combination<Kind, push_copy>, combination<Kind, push_many>,
               combination<Kind, pop>, combination<Kind, pop_many>, combination<Kind, pop_up_to>>;
template <class... Kinds>
auto matrix_of(std::tuple<Kinds...>) -> decltype(std::tuple_cat(with_every_verb<Kinds>()...));
// The verbs have the same code for every order, and slow builds take long to compile it.
using matrix = decltype(matrix_of(std::conditional_t<leat_test::slow_build, fifos, all_kinds>()));

}  // namespace queue_kinds
