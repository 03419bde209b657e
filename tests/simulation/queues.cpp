// Producers and consumers of all kinds on one queue, on several threads. Some of them are stopped.
// Every item arrives once, remains in the queue, or was refused.

#include <numeric>

#include "simulation/steps.hpp"

namespace simulation {
namespace {

using namespace std::chrono_literals;
using leat::errc;
using leat::task;
using leat::sim::world;

struct ledger {
  std::vector<int> in;   // accepted by the queue
  std::vector<int> out;  // popped from the queue
  int next = 0;

  std::vector<int> fresh(std::size_t count) {
    std::vector<int> items(count);
    std::iota(items.begin(), items.end(), next);
    next += static_cast<int>(count);
    return items;
  }
  void accept(const std::vector<int>& items, std::size_t count) {
    in.insert(in.end(), items.begin(), items.begin() + static_cast<std::ptrdiff_t>(count));
  }
};

template <class Queue>
task<> produce(world& w, Queue& q, ledger& book) {
  const std::size_t rounds = 1 + below(w, 6);
  for (std::size_t i = 0; i < rounds; ++i) {
    if (below(w, 4) == 0) co_await pause(w, 5);
    const std::uint64_t kind = below(w, 3);
    std::vector<int> items = book.fresh(kind == 1 ? below(w, 9) : 1);
    try {
      if (kind == 0) {
        const bool in = co_await q.push(items[0]);
        book.accept(items, in ? 1 : 0);
      } else if (kind == 1) {
        std::vector<int> moving = items;
        const std::size_t in = co_await q.push_many(moving);
        book.accept(items, in);
      } else {
        book.accept(items, q.try_push(items[0]) ? 1 : 0);
      }
    } catch (const leat::partial_push_error& e) {
      book.accept(items, e.count());
      co_return;
    } catch (const leat::failure& e) {
      require_queue_end(e);
      co_return;
    }
  }
}

template <class Queue>
task<> consume(world& w, Queue& q, ledger& book, std::size_t largest_batch) {
  for (;;) {
    const std::uint64_t kind = below(w, 4);
    const auto count = below(w, largest_batch + 1);
    try {
      if (kind == 0) {
        const std::optional<int> item = co_await q.pop();
        if (!item) co_return;
        book.out.push_back(*item);
      } else if (kind == 1) {
        if (const std::optional<int> item = q.try_pop()) book.out.push_back(*item);
        co_await leat::this_task::yield();
      } else {
        std::optional<std::vector<int>> batch;
        if (kind == 2) batch = co_await q.pop_many(count);
        if (kind == 3) batch = co_await q.pop_up_to(count);
        if (!batch) co_return;
        require(kind == 3 || batch->size() == count, "pop_many returned a wrong number of items");
        book.out.insert(book.out.end(), batch->begin(), batch->end());
      }
    } catch (const leat::failure& e) {
      require_queue_end(e);
      co_return;
    }
  }
}

// A queue between some producers and consumers, and the end of this queue.
template <class Queue>
class queue_exercise {
 public:
  queue_exercise(world& w, Queue& q, std::size_t largest_batch)
      : w_(w), q_(q), largest_batch_(largest_batch) {}

  task<> run() {
    w_.add_invariants(q_);
    leat::task_group producers("producers");
    leat::task_group consumers("consumers");
    leat::task_group patient("patient consumers");  // they are not stopped
    std::exception_ptr error;
    try {
      co_await go(producers, consumers, patient);
    } catch (...) {
      error = std::current_exception();
    }
    if (error) q_.close_and_cancel();
    for (leat::task_group* group : {&producers, &consumers, &patient}) {
      co_await join_into(error, *group);
    }
    w_.clear_invariants();
    if (error) std::rethrow_exception(error);
    check();
  }

 private:
  task<> go(leat::task_group& producers, leat::task_group& consumers, leat::task_group& patient) {
    const std::uint64_t many = 1 + below(w_, 4);
    for (std::uint64_t i = 0; i < many; ++i) {
      producers.spawn_on(any_thread(w_), produce(w_, q_, book_), "producer");
      consumers.spawn_on(any_thread(w_), consume(w_, q_, book_, largest_batch_), "consumer");
    }
    if (below(w_, 2) == 0)
      patient.spawn_on(any_thread(w_), consume(w_, q_, book_, largest_batch_), "patient");
    if (below(w_, 3) == 0) {
      co_await pause(w_, 8);
      producers.request_stop();
    }
    if (below(w_, 3) == 0) {
      co_await pause(w_, 8);
      consumers.request_stop();
    }
    co_await pause(w_, 10);
    switch (below(w_, 4)) {
      case 0: q_.close(); break;
      case 1: q_.close_and_cancel(); break;
      case 2: q_.fail(std::make_exception_ptr(leat::failure(errc::data_loss, "cause"))); break;
      default:
        // The producers end without a stop while consumers run.
        while (producers.live_tasks() > 0 && consumers.live_tasks() + patient.live_tasks() > 0) {
          co_await leat::sleep_for(1us);
          if (below(w_, 50) == 0) break;
        }
    }
    producers.request_stop();
    co_await producers.join();
    q_.close();
  }

  void check() {
    while (const std::optional<int> item = q_.try_pop()) book_.out.push_back(*item);
    require_same(book_.out, book_.in);
    const leat::queue_statistics s = q_.statistics();
    require(s.waiting_pops == 0 && s.waiting_pushes == 0, "operations wait at the end of a queue");
    require(s.pushed == s.popped && s.size == 0, "statistics are not consistent");
  }

  world& w_;
  Queue& q_;
  const std::size_t largest_batch_;
  ledger book_;
};

template <class Order>
task<> exercise_order(world& w) {
  constexpr std::size_t beyond_capacity = 6;
  const auto capacity = 1 + below(w, 8);
  const auto minimum = below(w, capacity);
  typename Order::template queue<int> q(
      Order::options({.capacity = capacity, .min_after_dequeue = minimum, .seed = w.random()()}));
  queue_exercise e(w, q, Order::takes_whole_batches ? capacity : beyond_capacity);
  co_await e.run();
}

}  // namespace

task<> queues(world& w) {
  return with_any_order(w, [&w](auto order) { return exercise_order<decltype(order)>(w); });
}

}  // namespace simulation
