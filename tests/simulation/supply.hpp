#pragma once

// Two queues whose items must arrive once, for scenarios that end waits early.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "leat/async/sleep.hpp"
#include "leat/async/task_group.hpp"
#include "leat/base/error.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "simulation/scenarios.hpp"

namespace simulation {

inline int number_of(int item) { return item; }
inline int number_of(const std::unique_ptr<int>& item) { return *item; }

/// The queues, and the numbers of the items that went in and came out.
template <class Item>
struct supply {
  explicit supply(std::size_t capacity) : items(capacity, "items"), others(capacity, "others") {}
  leat::fifo_queue<Item> items;
  leat::fifo_queue<Item> others;
  std::vector<int> pushed{};
  std::vector<int> popped{};

  void keep(const std::optional<Item>& item) {
    if (item) popped.push_back(number_of(*item));
  }
};

inline leat::scheduler& any_thread(leat::sim::world& w) {
  return w.thread(static_cast<std::size_t>(w.random().uniform_below(w.threads())));
}

/// Sleeps for less than `below` microseconds.
inline leat::task<> pause(leat::sim::world& w, std::uint64_t below) {
  co_await leat::sleep_for(std::chrono::microseconds(1) * w.random().uniform_below(below));
}

/// Joins the consumers, then the producers, and checks that each pushed item was popped once or is
/// left.
template <class Item>
leat::task<> end_supply(leat::sim::world& w, supply<Item>& s, leat::task_group& producers,
                        leat::task_group& consumers) {
  std::exception_ptr error;
  try {
    co_await consumers.join();
  } catch (...) {
    error = std::current_exception();
  }
  s.items.close_and_cancel();
  s.others.close_and_cancel();
  try {
    co_await producers.join();
  } catch (...) {
    if (leat::to_error_code(std::current_exception()) != leat::errc::cancelled) {
      error = std::current_exception();
    }
  }
  w.clear_invariants();
  if (error) std::rethrow_exception(error);
  while (const std::optional<Item> left = s.items.try_pop()) s.keep(left);
  while (const std::optional<Item> left = s.others.try_pop()) s.keep(left);
  std::sort(s.popped.begin(), s.popped.end());
  std::sort(s.pushed.begin(), s.pushed.end());
  require(s.popped == s.pushed, "popped items are not the pushed items");
}

}  // namespace simulation
