// Runs a program of producers and consumers in which the last producer closes the queue. Stops the
// program, stops one of its tasks, or fails the queue at each point at which a task can be
// suspended. Each item that was pushed is popped once or is still in the queue, and no operation is
// left waiting.

#include <array>
#include <coroutine>
#include <exception>
#include <set>
#include <source_location>
#include <tuple>
#include <type_traits>

#include "leat/coordination/coordinator.hpp"
#include "leat/queue.hpp"
#include "queue/operation/queue_tasks.hpp"
#include "queue/tensors.hpp"
#include "queue/weight/weighed_queues.hpp"
#include "support/leat_test.hpp"

namespace stop_everywhere_test {

// ---- Numbers through queues of numbers and of tensors.

template <class Queue>
constexpr bool has_tensors = std::is_same_v<typename Queue::value_type, leat::tensor_tuple>;

std::vector<int> numbers_of(const leat::tensor_tuple& t) {
  const auto values = t[0].values<int>();
  return {values.begin(), values.end()};
}
std::vector<int> numbers_of(int i) { return {i}; }
std::vector<int> numbers_of(const std::vector<int>& v) { return v; }

template <class Queue>
auto item_of(int value) {
  if constexpr (has_tensors<Queue>) {
    return one(value);
  } else {
    return value;
  }
}

template <class Queue>
task<std::size_t> push_run(Queue& q, std::vector<int>& run) {
  std::size_t in = 0;
  if constexpr (has_tensors<Queue>) {
    leat::tensor_tuple batch = one(int_vector(run));
    in = co_await q.push_many(std::move(batch));
  } else {
    in = co_await q.push_many(run);
  }
  co_return in;
}

// ---- The program.

// The items that the tasks pushed and popped, and the number of producers that still run.
struct books {
  std::multiset<int> in;
  std::multiset<int> out;
  int producers = 3;

  template <class Items>
  void took(const Items& items) {
    for (const int i : numbers_of(items)) out.insert(i);
  }
};

// Closes the queue when the last producer ends, also by an exception.
template <class Queue>
struct producing {
  Queue& queue;
  books& b;
  ~producing() {
    if (--b.producers == 0) queue.close();
  }
};

template <class Queue>
task<> push_singly(Queue& q, int first, books& b) {
  const producing<Queue> here{q, b};
  for (int value = first; value < first + 4; ++value) {
    auto item = item_of<Queue>(value);
    const bool in = co_await q.push(std::move(item));
    if (in) b.in.insert(value);
  }
}

template <class Queue>
task<> push_a_run(Queue& q, int first, books& b) {
  const producing<Queue> here{q, b};
  std::vector<int> run;
  for (int value = first; value < first + 7; ++value) run.push_back(value);
  std::vector<int> copy = run;
  std::size_t count = 0;
  std::exception_ptr ended;
  try {
    count = co_await push_run(q, copy);
  } catch (const leat::partial_push_error& e) {
    count = e.count();
    ended = std::current_exception();
  }
  b.in.insert(run.begin(), run.begin() + static_cast<std::ptrdiff_t>(count));
  if (ended) std::rethrow_exception(ended);
}

template <class Queue>
task<> pop_singly(Queue& q, books& b) {
  for (;;) {
    const auto item = co_await q.pop();
    if (!item) co_return;
    b.took(*item);
  }
}

template <class Queue>
task<> pop_batches(Queue& q, books& b) {
  for (bool exactly = true;; exactly = !exactly) {
    decltype(q.try_pop_many(2)) batch;
    if (exactly) {
      batch = co_await q.pop_many(2);
    } else {
      batch = co_await q.pop_up_to(2);
      if (!batch) co_return;
    }
    if (batch) b.took(*batch);
  }
}

constexpr std::size_t tasks = 5;
constexpr std::size_t items = 15;

template <class Queue>
class program {
 public:
  // Without `batches`, the last consumer pops single items: some queues reject batches.
  program(leat::sim::virtual_scheduler& sched, Queue& q, bool batches = true) : queue_(q) {
    groups_[0].spawn_on(sched, push_singly(q, 100, books_));
    groups_[1].spawn_on(sched, push_a_run(q, 200, books_));
    groups_[2].spawn_on(sched, push_singly(q, 300, books_));
    groups_[3].spawn_on(sched, pop_singly(q, books_));
    groups_[4].spawn_on(sched, batches ? pop_batches(q, books_) : pop_singly(q, books_));
  }

  [[nodiscard]] bool lives() const {
    std::size_t live = 0;
    for (const auto& g : groups_) live += g.live_tasks();
    return live > 0;
  }
  void stop() {
    for (auto& g : groups_) g.request_stop();
  }
  void stop_only(std::size_t task) { groups_[task].request_stop(); }

  // Requires that all tasks have ended. Returns the number of items pushed.
  std::size_t check_nothing_is_lost() {
    CHECK_FALSE(lives());
    const auto s = queue_.statistics();
    CHECK(s.waiting_pushes + s.waiting_pops == 0);
    CHECK(s.closed);
    while (const auto item = queue_.try_pop()) books_.took(*item);
    CHECK(books_.in == books_.out);
    return books_.in.size();
  }

  // Returns the error of a task, or null if the task succeeded or was stopped.
  [[nodiscard]] std::exception_ptr error_of(std::size_t task) const {
    return groups_[task].first_error();
  }

 private:
  Queue& queue_;
  books books_;
  std::array<task_group, tasks> groups_;
};

// Runs the program once for each number of turns, until it ends within that number. Calls
// act(program, queue) after the turns and check(program, in_time) at the end. `in_time` is false
// once the program ended before act().
template <class Make, class Act, class Check>
void at_each_point(Make make, Act act, Check check) {
  int points = 0;
  bool in_time = true;
  for (; in_time; ++points) {
    leat::sim::virtual_scheduler sched;
    auto q = make();
    program p(sched, q);
    for (int i = 0; i < points; ++i) sched.run_now(1);  // one task, until it waits
    in_time = p.lives();
    act(p, q);
    sched.run_to_end();
    check(p, in_time);
  }
  CHECK(points > 10);
}

struct padded {
  static leat::padding_fifo_queue make(std::size_t capacity) {
    return leat::padding_fifo_queue(scalars(), {.capacity = capacity, .name = "q"});
  }
};
struct shuffled_tensors {
  using queue = leat::tensor_queue<leat::random_shuffle_queue<leat::tensor_tuple>>;
  static queue make(std::size_t capacity) {
    return queue(scalars(), leat::shuffle_options{.capacity = capacity, .seed = 7, .name = "q"});
  }
};
struct prioritized_tensors {
  struct by_number {
    bool operator()(const leat::tensor_tuple& a, const leat::tensor_tuple& b) const {
      return a[0].values<int>()[0] < b[0].values<int>()[0];
    }
  };
  using queue = leat::tensor_queue<leat::priority_queue<leat::tensor_tuple, by_number>>;
  static queue make(std::size_t capacity) {
    return queue(scalars(), leat::queue_options{.capacity = capacity, .name = "q"});
  }
};
using queues_of_all =
    std::tuple<fifo, shuffled, prioritized, padded, shuffled_tensors, prioritized_tensors>;

TEMPLATE_LIST_TEST_CASE("queue: a stop at any point loses and duplicates no item", "[coordination]",
                        queues_of_all) {
  at_each_point([] { return TestType::make(2); }, [](auto& p, auto&) { p.stop(); },
                [](auto& p, bool in_time) {
                  const std::size_t in = p.check_nothing_is_lost();
                  if (!in_time) CHECK(in == items);
                });
}

TEMPLATE_LIST_TEST_CASE("queue: a stop of one task at any point lets the others continue",
                        "[coordination]", queues_of_all) {
  for (std::size_t stopped = 0; stopped < tasks; ++stopped) {
    at_each_point([] { return TestType::make(2); }, [&](auto& p, auto&) { p.stop_only(stopped); },
                  [&](auto& p, bool in_time) {
                    const bool was_consumer = stopped >= 3;
                    const std::size_t in = p.check_nothing_is_lost();
                    if (was_consumer || !in_time) CHECK(in == items);
                    CHECK(in >= items - 7);
                  });
  }
}

TEMPLATE_LIST_TEST_CASE("queue: a failure at any point loses and duplicates no item",
                        "[coordination]", queues_of_all) {
  const auto cause = std::make_exception_ptr(std::runtime_error("the disk is gone"));
  const auto is_cause = [&](const std::exception_ptr& error) {
    try {
      std::rethrow_exception(error);
    } catch (const leat::partial_push_error& e) {
      return e.cause() == cause;
    } catch (...) {
      return std::current_exception() == cause;
    }
  };
  at_each_point([] { return TestType::make(2); }, [&](auto&, auto& q) { q.fail(cause); },
                [&](auto& p, bool in_time) {
                  p.check_nothing_is_lost();
                  bool consumers_know = true;
                  for (std::size_t t = 0; t < tasks; ++t) {
                    const std::exception_ptr error = p.error_of(t);
                    if (error) CHECK(is_cause(error));
                    if (t >= 3 && !error) consumers_know = false;
                  }
                  if (!in_time) CHECK_FALSE(consumers_know);
                  // At least one consumer has not seen the end yet, so it must report the failure.
                  if (in_time) CHECK((p.error_of(3) || p.error_of(4)));
                });
}

// Two programs whose queues share a memory budget.
TEMPLATE_LIST_TEST_CASE("queue: a stop at any point loses no item with a shared budget",
                        "[coordination]", weighed_queues) {
  const bool batches = !std::is_same_v<TestType, weighed_prioritized>;  // it rejects batches
  for (std::size_t stopped = 0; stopped <= tasks; ++stopped) {  // one task; in the last round all
    int points = 0;
    bool in_time = true;
    for (; in_time; ++points) {
      leat::sim::virtual_scheduler sched;
      leat::memory_budget ram(700, "ram");  // room for two or three items of 100 to 306
      auto left = TestType::make({.budget = &ram, .capacity = 2}, "left");
      auto right = TestType::make({.budget = &ram, .capacity = 2}, "right");
      program a(sched, left, batches);
      program b(sched, right, batches);
      for (int i = 0; i < points; ++i) sched.run_now(1);
      in_time = a.lives() || b.lives();
      if (stopped < tasks) {
        a.stop_only(stopped);
      } else {
        a.stop();
        b.stop();
      }
      sched.run_to_end();
      a.check_nothing_is_lost();
      const std::size_t in = b.check_nothing_is_lost();
      if (stopped < tasks) CHECK(in == items);  // b continues
      CHECK(ram.used() == 0);
    }
    CHECK(points > 20);
  }
}

// Awaits an operation and clears the stop between the two checks of it, as another thread may.
template <class Operation>
struct cleared_meanwhile {
  Operation& operation;
  leat::coordinator& owner;
  void bind(leat::detail::promise_base& promise, std::coroutine_handle<> h,
            const std::source_location& where) noexcept {
    if constexpr (leat::detail::location_aware<Operation>) {
      operation.bind(promise, h, where);
    } else {
      operation.bind(promise, h);
    }
  }
  bool await_ready() {
    const bool ready = operation.await_ready();
    owner.clear_stop();
    return ready;
  }
  bool await_suspend(std::coroutine_handle<> h) { return operation.await_suspend(h); }
  auto await_resume() { return operation.await_resume(); }
};

LEAT_TEST("stop: a stop that a task has seen counts even if it is cleared before the wait") {
  leat::fifo_queue<int> q(4);
  for (int i = 0; i < 3; ++i) REQUIRE(q.try_push(i));
  for (const int form : {0, 1, 2}) {
    leat::coordinator coord;
    std::error_code ec;
    coord.spawn([](leat::fifo_queue<int>& from, leat::coordinator& owner, int f,
                   std::error_code& code) -> task<> {
      auto batch = from.pop_many(3);
      auto selected = leat::select(from.pop_many(3), leat::sleep_for(1s));
      auto limited = leat::with_timeout(from.pop_many(3), 1s);
      cleared_meanwhile<decltype(batch)> alone{batch, owner};
      cleared_meanwhile<decltype(selected)> of_several{selected, owner};
      cleared_meanwhile<decltype(limited)> in_time{limited, owner};
      try {
        if (f == 0) co_await alone;
        if (f == 1) co_await of_several;
        if (f == 2) co_await in_time;
      } catch (const leat::failure& e) {
        code = e.code();
      }
    }(q, coord, form, ec));
    coord.request_stop();
    co_await coord.join();
    CHECK(ec == errc::cancelled);
    CHECK(q.size() == 3);
  }
}

}  // namespace stop_everywhere_test
