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

  outcome& push(int value) {
    outcome& o = outcomes_.emplace_back();
    group_.spawn(push_one(queue_, value, o));
    return o;
  }
  outcome& push_many(std::vector<int> values) {
    outcome& o = outcomes_.emplace_back();
    group_.spawn(push_all(queue_, std::move(values), o));
    return o;
  }
  outcome& pop() {
    outcome& o = outcomes_.emplace_back();
    group_.spawn(pop_one(queue_, o));
    return o;
  }
  outcome& pop_many(std::size_t count) {
    outcome& o = outcomes_.emplace_back();
    group_.spawn(pop_some(queue_, count, false, o));
    return o;
  }
  outcome& pop_up_to(std::size_t count) {
    outcome& o = outcomes_.emplace_back();
    group_.spawn(pop_some(queue_, count, true, o));
    return o;
  }

  /// Cancels all waiting operations, as closing a session does.
  task<> cancel() {
    group_.request_stop();
    co_await group_.join();
  }
  task<> join() { co_await group_.join(); }

 private:
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
