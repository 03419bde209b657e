#pragma once

// Provisional pops on every kind of queue, which a test commits or undoes.

#include <tuple>

#include "leat/queue/completion_tokens.hpp"
#include "queue/orders.hpp"
#include "queue/queue_kinds.hpp"
#include "support/asio_test.hpp"
#include "support/loops.hpp"

namespace provisional_pops {

using queue_kinds::capacity;

// ------------------------------------------------------------------------------------- the queues

// The weight of an item is its value. The function throws while weigher_fails is true.
inline bool weigher_fails = false;
struct by_value_or_throws {
  std::size_t operator()(int item) const {
    if (weigher_fails) throw std::runtime_error("weighed again");
    return static_cast<std::size_t>(item);
  }
};

template <class Order>
using weighing = queue_kinds::of_numbers<Order, by_value_or_throws>;

// -------------------------------------------------------------------------------------- the pops

struct pop {
  static constexpr std::size_t moves = 1;
  template <class Queue, class Token>
  static void start(Queue& q, Token&& token) {
    q.async_pop(std::forward<Token>(token));
  }
  template <class Queue>
  static auto start(Queue& q) {
    return q.pop();
  }
  template <class Kind, class Item>
  static std::size_t count(const std::optional<Item>& item) {
    return item ? 1 : 0;
  }
};

struct of_batch {
  static constexpr std::size_t moves = 3;
  template <class Kind, class Batch>
  static std::size_t count(const std::optional<Batch>& batch) {
    return batch ? Kind::count(*batch) : 0;
  }
};
struct pop_many : of_batch {
  template <class Queue, class Token>
  static void start(Queue& q, Token&& token) {
    q.async_pop_many(moves, std::forward<Token>(token));
  }
  template <class Queue>
  static auto start(Queue& q) {
    return q.pop_many(moves);
  }
};
struct pop_up_to : of_batch {
  template <class Queue, class Token>
  static void start(Queue& q, Token&& token) {
    q.async_pop_up_to(moves, std::forward<Token>(token));
  }
  template <class Queue>
  static auto start(Queue& q) {
    return q.pop_up_to(moves);
  }
};

// How an operation has ended.
struct ending {
  bool ended = false;
  std::error_code ec;
  std::size_t moved = 0;

  template <class Kind, class Pop>
  auto handler() {
    return [this](std::error_code e, auto&& result) {
      ended = true;
      ec = e;
      moved = Pop::template count<Kind>(result);
    };
  }
};

// A pop with a handler in a loop of its own. It is not provisional, because nothing can cancel it.
template <class Kind, class Pop>
class plain_pop : public ending {
 public:
  explicit plain_pop(typename Kind::queue& q) {
    Pop::start(q, asio::bind_executor(loop_.context(), handler<Kind, Pop>()));
  }
  // Delivers the result if there is one.
  [[nodiscard]] bool has_ended() {
    loop_.run_ready();
    return ended;
  }

 private:
  leat_test::asio_loop loop_;
};

// ------------------------------------------------------------------------------- provisional pops

// A pop with a handler that a cancellation can reach.
struct by_handler {
  static constexpr bool at_once = true;  // also if it does not wait
  template <class Kind, class Pop>
  class pop : public ending {
   public:
    explicit pop(typename Kind::queue& q) {
      Pop::start(q,
                 asio::bind_cancellation_slot(
                     signal_.slot(), asio::bind_executor(loop_.context(), handler<Kind, Pop>())));
    }
    void cancel() { signal_.emit(asio::cancellation_type::total); }
    void undo() {
      cancel();
      loop_.run_ready();
    }
    void commit() { loop_.run_ready(); }
    void end_loop() { loop_.end(); }

   private:
    asio::cancellation_signal signal_;
    leat_test::asio_loop loop_;
  };
};

// ------------------------------------------------------------------------------------- the matrix

template <class Way, class Kind, class Pop>
struct combination {
  using kind = Kind;
  using way = Way;
  using pop = typename Way::template pop<Kind, Pop>;
  using queue = typename Kind::queue;
  static constexpr std::size_t moves = Pop::moves;
};
template <class Way, class Kind>
using with_every_pop = std::tuple<combination<Way, Kind, pop>, combination<Way, Kind, pop_many>,
                                  combination<Way, Kind, pop_up_to>>;

template <class Way, class... Kinds>
auto pops_of(std::tuple<Kinds...>) -> decltype(std::tuple_cat(with_every_pop<Way, Kinds>()...));

using fifo_kinds =
    std::tuple<queue_kinds::of_numbers<queue_orders::fifo>, weighing<queue_orders::fifo>>;
using other_kinds =
    decltype(std::tuple_cat(std::tuple<queue_kinds::padding>(), queue_kinds::other_kinds(),
                            queue_orders::each_other<weighing>()));
template <class Way>
using fifos_of = decltype(pops_of<Way>(fifo_kinds()));
template <class Way>
using others_of = decltype(pops_of<Way>(other_kinds()));

template <class Kind>
void push(typename Kind::queue& q, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) REQUIRE(q.try_push(Kind::make_item()));
}

template <class Queue>
std::size_t drop_all(Queue& q) {
  std::size_t count = 0;
  while (q.try_pop()) ++count;
  return count;
}

}  // namespace provisional_pops
