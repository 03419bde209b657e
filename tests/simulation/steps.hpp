#pragma once

// The includes that most scenarios need, and the parts that several of them share.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "leat/async.hpp"
#include "leat/base/error.hpp"
#include "leat/queue.hpp"
#include "leat/sim/world/world.hpp"
#include "queue/orders.hpp"
#include "simulation/scenarios.hpp"

namespace simulation {

/// Returns a random number below `limit`.
inline std::size_t below(leat::sim::world& w, std::uint64_t limit) {
  return static_cast<std::size_t>(w.random().uniform_below(limit));
}

inline leat::scheduler& any_thread(leat::sim::world& w) { return w.thread(below(w, w.threads())); }

/// Returns start(order) for an order of queues that the world chooses.
template <class Start>
auto with_any_order(leat::sim::world& w, Start start) {
  std::optional<decltype(start(queue_orders::fifo()))> started;
  const std::size_t chosen = below(w, std::tuple_size_v<queue_orders::all>);
  std::size_t number = 0;
  const auto start_if_chosen = [&](auto order) {
    if (number++ == chosen) started.emplace(start(order));
  };
  std::apply([&](auto... orders) { (start_if_chosen(orders), ...); }, queue_orders::all());
  return std::move(started).value();
}

/// Sleeps for less than `limit` microseconds.
inline leat::task<> pause(leat::sim::world& w, std::uint64_t limit) {
  co_await leat::sleep_for(std::chrono::microseconds(1) * below(w, limit));
}

/// Requires that a failure is a stop or the end of a limit.
inline void require_early_end(const leat::failure& e) {
  require(e.code() == leat::errc::cancelled || e.code() == leat::errc::deadline_exceeded, e.what());
}

/// Requires that a failure is a stop, or the cause of a queue that failed.
inline void require_queue_end(const leat::failure& e) {
  require(e.code() == leat::errc::cancelled || e.code() == leat::errc::data_loss, e.what());
}

/// Joins a group, and stores the failure of a task in `error`.
inline leat::task<> join_into(std::exception_ptr& error, leat::task_group& group) {
  try {
    co_await group.join();
  } catch (...) {
    error = std::current_exception();
  }
}

/// Joins the consumers, then calls `close` and joins the producers, which it may cancel. Returns a
/// failure of their tasks.
template <class Close>
leat::task<std::exception_ptr> join_and_close(leat::task_group& consumers,
                                              leat::task_group& producers, Close close) {
  std::exception_ptr of_consumers;
  std::exception_ptr of_producers;
  co_await join_into(of_consumers, consumers);
  close();
  co_await join_into(of_producers, producers);
  const bool failed = of_producers && leat::to_error_code(of_producers) != leat::errc::cancelled;
  co_return failed ? of_producers : of_consumers;
}

/// Requires that each pushed item was popped once.
inline void require_same(std::vector<int> popped, std::vector<int> pushed) {
  std::sort(popped.begin(), popped.end());
  std::sort(pushed.begin(), pushed.end());
  require(popped == pushed, "popped items are not the pushed items");
}

}  // namespace simulation
