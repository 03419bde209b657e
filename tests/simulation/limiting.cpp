// Consumers run tasks that pop items, under time limits and stops, as branches of a select and in
// when_any(). A task that has popped an item returns it, even if it is asked to stop. Every item
// arrives once.

#include <stop_token>
#include <tuple>
#include <variant>

#include "simulation/supply.hpp"

namespace simulation {
namespace {

using namespace std::chrono_literals;
using leat::task;
using leat::sim::world;
using item_queue = leat::fifo_queue<int>;

task<> produce_plain(world& w, item_queue& q, std::vector<int>& pushed, int first) {
  const int count = static_cast<int>(1 + below(w, 8));
  for (int item = first; item < first + count; ++item) {
    co_await pause(w, 4);
    const bool in = co_await q.push(item);
    if (in) pushed.push_back(item);
  }
}

// Ends without an item if the queue is closed.
task<std::optional<int>> take_item(world& w, item_queue& q) {
  co_await pause(w, 3);
  const std::optional<int> item = co_await q.pop();
  try {
    co_await pause(w, 3);
  } catch (const leat::failure&) {
    // The item goes to the caller.
  }
  co_return item;
}

// Like take_item(), but does not fail.
task<std::optional<int>> try_take_item(world& w, item_queue& q) {
  std::optional<int> item;
  try {
    item = co_await take_item(w, q);
  } catch (const leat::failure&) {
    // stopped before it had an item
  }
  co_return item;
}

task<> stop_later(world& w, std::stop_source source) {
  co_await pause(w, 6);
  source.request_stop();
}

task<> consume_with_stop(world& w, supply<int>& s) {
  std::stop_source source;
  leat::task_group stopper(leat::shielded, "stopper");
  stopper.spawn(stop_later(w, source));
  std::exception_ptr error;
  try {
    s.keep(co_await leat::with_stop(take_item(w, s.items), source.get_token()));
  } catch (...) {
    error = std::current_exception();
  }
  co_await stopper.join();
  if (error) std::rethrow_exception(error);
}

task<> consume_selected(world& w, supply<int>& s) {
  const auto limit = 1us * below(w, 8);
  if (below(w, 2) == 0) {
    const auto done =
        co_await leat::select(s.others.pop(), take_item(w, s.items), leat::sleep_for(limit));
    if (done.index() == 0) s.keep(std::get<0>(done));
    if (done.index() == 1) s.keep(std::get<1>(done));
  } else {
    const auto done = co_await leat::select(take_item(w, s.items), s.others.pop_up_to(2));
    if (done.index() == 0) s.keep(std::get<0>(done));
    if (done.index() == 1 && std::get<1>(done)) {
      for (const int item : *std::get<1>(done)) s.keep(item);
    }
  }
}

task<> consume_limited(world& w, supply<int>& s) {
  const std::uint64_t count = 1 + below(w, 8);
  for (std::uint64_t i = 0; i < count; ++i) {
    try {
      switch (below(w, 4)) {
        case 0: {
          const auto limit = 1us * below(w, 6);
          s.keep(co_await leat::with_timeout(take_item(w, s.items), limit));
          break;
        }
        case 1: co_await consume_with_stop(w, s); break;
        case 2: co_await consume_selected(w, s); break;
        default: {
          const auto [first, second] =
              co_await leat::when_any(try_take_item(w, s.items), try_take_item(w, s.others));
          if (first) s.keep(*first);
          if (second) s.keep(*second);
        }
      }
    } catch (const leat::failure& e) {
      require_early_end(e);
    }
  }
}

}  // namespace

task<> limiting(world& w) {
  supply<int> s(w);
  s.start(produce_plain, consume_limited);
  if (below(w, 3) == 0) {
    co_await pause(w, 12);
    if (below(w, 2) == 0) s.consumers.request_stop();
  }
  if (below(w, 2) == 0) {
    co_await pause(w, 20);
    s.close();
  } else {
    co_await pause(w, 40);
    s.consumers.request_stop();
  }
  co_await s.end();
}

}  // namespace simulation
