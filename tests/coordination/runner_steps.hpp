#pragma once

// The steps of the producers in the tests of queue_runner.

#include "leat/queue/fifo_queue.hpp"
#include "support/leat_test.hpp"

namespace runner_steps {

using number_queue = leat::fifo_queue<int>;

// Increments `n`; throws errc::out_of_range once `n` has reached `limit`.
inline task<> count(int& n, int limit) {
  co_await leat::this_task::yield();
  if (n == limit) throw leat::failure(errc::out_of_range, "limit");
  ++n;
}

inline task<> fail(std::string what) {
  co_await leat::this_task::yield();
  throw std::runtime_error(what);
}

inline task<> fail_with(errc e) {
  co_await leat::this_task::yield();
  throw leat::failure(e, "failed");
}

inline task<bool> push_next(number_queue& q, int& next) { co_return co_await q.push(next++); }

// Moves one item between two queues; returns false once `from` has ended.
inline task<bool> move_one(number_queue& from, number_queue& to) {
  const auto item = co_await from.pop();
  if (!item) co_return false;
  co_return co_await to.push(int{*item});
}

inline task<> pop(number_queue& q) { co_await q.pop(); }

}  // namespace runner_steps
