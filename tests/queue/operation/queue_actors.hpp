#pragma once

// Operations that wait beside a test, in the order of their calls.

#include <deque>

#include "queue/operation/queue_tasks.hpp"
#include "support/leat_test.hpp"

/// Starts operations on one queue, each in its own task; settle() lets them begin. Before join(),
/// close the queue if an operation waits without a limit.
template <class Queue>
class actors {
 public:
  explicit actors(Queue& q) : queue_(q) {}

  outcome& push(int value) { return start(&push_one<Queue>, value); }
  outcome& push_many(std::vector<int> values) { return start(&push_all<Queue>, std::move(values)); }
  outcome& pop() { return start(&pop_one<Queue>); }
  outcome& pop_many(std::size_t count) { return start(&pop_some<Queue>, count, false); }
  outcome& pop_up_to(std::size_t count) { return start(&pop_some<Queue>, count, true); }

  /// Cancels all waiting operations, as closing a session does.
  task<> cancel() {
    group_.request_stop();
    co_await group_.join();
  }
  task<> join() { co_await group_.join(); }

 private:
  template <class Operation, class... Arguments>
  outcome& start(Operation operation, Arguments... arguments) {
    outcome& o = outcomes_.emplace_back();
    group_.spawn(operation(queue_, std::move(arguments)..., o));
    return o;
  }

  Queue& queue_;
  std::deque<outcome> outcomes_;
  task_group group_;
};

/// Removes and returns all items in order.
template <class Queue>
std::vector<int> drain(Queue& q) {
  std::vector<int> items;
  while (const auto item = q.try_pop()) items.push_back(*item);
  return items;
}

template <class Queue>
void fill(Queue& q, std::vector<int> items) {
  CHECK(q.try_push_many(items) == items.size());
}
