// Generators pop items and pass them through a second generator to consumers, which call next()
// alone, under time limits, in a select and on other threads, and destroy generators early. Every
// item arrives once, whatever ends a wait.

#include <variant>

#include "simulation/supply.hpp"

namespace simulation {
namespace {

using namespace std::chrono_literals;
using leat::async_generator;
using leat::task;
using leat::sim::world;
using item = std::unique_ptr<int>;

task<> produce_owned(world& w, leat::fifo_queue<item>& q, std::vector<int>& pushed, int first) {
  leat::interval every(
      2us, below(w, 2) == 0 ? leat::missed_tick_policy::skip : leat::missed_tick_policy::catch_up);
  const int count = static_cast<int>(1 + below(w, 8));
  for (int i = first; i < first + count; ++i) {
    co_await every.tick();
    const bool in = co_await q.push(std::make_unique<int>(i));
    if (in) pushed.push_back(i);
    co_await pause(w, 4);
  }
}

// The generators yield an item that they have, even if they are asked to stop meanwhile.
task<> pause_despite_stop(world& w) {
  try {
    co_await pause(w, 3);
  } catch (const leat::failure&) {
    // the item goes to the caller
  }
}

async_generator<item> pop_items(world& w, leat::fifo_queue<item>& q) {
  for (;;) {
    if (below(w, 2) == 0) co_await pause(w, 3);
    std::optional<item> popped = co_await q.pop();
    if (!popped) co_return;
    if (below(w, 2) == 0) co_await pause_despite_stop(w);
    co_yield std::move(*popped);
  }
}

async_generator<item> forward(world& w, async_generator<item> inner) {
  while (std::optional<item> got = co_await inner.next()) {
    if (below(w, 2) == 0) co_await pause_despite_stop(w);
    co_yield std::move(*got);
  }
}

async_generator<item> make_generator(world& w, leat::fifo_queue<item>& q) {
  auto items = pop_items(w, q);
  return below(w, 2) == 0 ? forward(w, std::move(items)) : std::move(items);
}

task<std::optional<item>> next_in_task(async_generator<item>& all) {
  co_return co_await all.next();
}

task<> consume_one(world& w, supply<item>& s, async_generator<item>& all) {
  const auto limit = 1us * below(w, 6);
  switch (below(w, 4)) {
    case 0: s.keep(co_await all.next()); break;
    case 1: s.keep(co_await leat::with_timeout(all.next(), limit)); break;
    case 2: s.keep(co_await leat::run_on(any_thread(w), next_in_task(all))); break;
    default: {
      const auto done = co_await leat::select(s.others.pop(), all.next(), leat::sleep_for(limit));
      if (done.index() == 0) s.keep(std::get<0>(done));
      if (done.index() == 1) s.keep(std::get<1>(done));
    }
  }
}

task<> consume_owned(world& w, supply<item>& s) {
  auto all = make_generator(w, s.items);
  const std::uint64_t count = 1 + below(w, 8);
  for (std::uint64_t i = 0; i < count; ++i) {
    try {
      co_await consume_one(w, s, all);
    } catch (const leat::failure& e) {
      require_early_end(e);
      all = make_generator(w, s.items);
    }
    if (below(w, 8) == 0) all = make_generator(w, s.items);
  }
}

}  // namespace

task<> generating(world& w) {
  supply<item> s(w);
  s.start(produce_owned, consume_owned);
  if (below(w, 2) == 0) {
    co_await pause(w, 20);
    s.close();
  } else {
    co_await pause(w, 30);
    s.consumers.request_stop();
  }
  co_await s.end();
}

}  // namespace simulation
