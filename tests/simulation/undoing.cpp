// Consumers select between a queue and an operation that cannot be undone, so that their pops are
// provisional and some are undone. Every item arrives once or remains in the queue. After a pop has
// reported the end, no item returns.

#include "async/fake_operations.hpp"
#include "simulation/steps.hpp"

namespace simulation {
namespace {

using namespace std::chrono_literals;
using leat::errc;
using leat::task;
using leat::sim::world;
using leat_test::transfer;
using leat_test::transfer_script;

// The weight of an item is 1, 2 or 3. An item is weighed once.
thread_local std::vector<int> weighed;
struct weigh_once {
  std::size_t operator()(int item) const {
    require(std::find(weighed.begin(), weighed.end(), item) == weighed.end(),
            "an item was weighed again");
    weighed.push_back(item);
    return 1 + static_cast<std::size_t>(item) % 3;
  }
};

struct undo_ledger {
  std::vector<int> in;
  std::vector<int> out;
  int next = 0;
  bool end_reported = false;

  void take(const std::optional<int>& item) {
    if (item) out.push_back(*item);
    end_reported = end_reported || !item;
  }
  // A batch of pop_many() may be missing although fewer items are left.
  void take(const std::optional<std::vector<int>>& batch, bool may_be_short, std::size_t count) {
    if (batch) out.insert(out.end(), batch->begin(), batch->end());
    if (may_be_short) end_reported = end_reported || !batch || batch->size() < count;
  }
};

transfer_script some_script(world& w) {
  transfer_script s;
  s.takes = 1us * below(w, 8);
  s.cancel_takes = 1us * below(w, 6);
  s.completes_all_the_same = below(w, 3) == 0;
  s.moved_before_cancel = below(w, 4) == 0 ? 3 : 0;
  s.at_once = below(w, 10) == 0;
  s.cannot_start = below(w, 20) == 0;
  return s;
}

template <class Queue>
task<> push_items(world& w, Queue& q, undo_ledger& book) {
  const std::size_t rounds = 1 + below(w, 8);
  for (std::size_t i = 0; i < rounds; ++i) {
    if (below(w, 3) == 0) co_await pause(w, 5);
    const int item = book.next++;
    try {
      const bool in = co_await q.push(item);
      if (!in) co_return;
      book.in.push_back(item);
    } catch (const leat::failure& e) {
      require_queue_end(e);
      co_return;
    }
  }
}

// One pop of some kind. Returns false at the end.
template <class Queue>
task<bool> pop_once(world& w, Queue& q, undo_ledger& book) {
  transfer_script script = some_script(w);
  const auto count = 1 + below(w, 3);
  switch (below(w, 7)) {
    case 0: {
      const auto item = co_await q.pop();
      book.take(item);
      co_return item.has_value();
    }
    case 1: {
      const auto batch = co_await q.pop_many(count);
      book.take(batch, false, count);
      co_return batch.has_value();
    }
    case 2: {
      const auto batch = co_await q.pop_up_to(count);
      book.take(batch, true, count);
      co_return batch.has_value();
    }
    case 3: {
      if (const std::optional<int> item = q.try_pop()) book.out.push_back(*item);
      co_await leat::this_task::yield();
      co_return true;
    }
    case 4: {
      const auto done = co_await leat::select(transfer{script}, q.pop());
      if (done.index() == 0) co_return true;
      book.take(std::get<1>(done));
      co_return std::get<1>(done).has_value();
    }
    case 5: {
      const auto done = co_await leat::select(q.pop_many(count), transfer{script});
      if (done.index() == 1) co_return true;
      book.take(std::get<0>(done), false, count);
      co_return std::get<0>(done).has_value();
    }
    default: {
      const auto done = co_await leat::select(q.pop_up_to(count), transfer{script},
                                              leat::sleep_for(1us * below(w, 8)));
      if (done.index() != 0) co_return true;
      book.take(std::get<0>(done), true, count);
      co_return std::get<0>(done).has_value();
    }
  }
}

template <class Queue>
task<> pop_items(world& w, Queue& q, undo_ledger& book) {
  for (bool more = true; more;) {
    bool ended = false;
    try {
      more = co_await pop_once(w, q, book);
    } catch (const leat::failure& e) {
      ended = e.code() != errc::resource_exhausted;  // of a transfer that cannot start
      if (ended) require_queue_end(e);
    }
    if (ended) co_return;
  }
}

template <class Queue>
task<> undo_pops(world& w, Queue& q) {
  undo_ledger book;
  weighed.clear();
  w.add_invariants(q);
  w.always("no item follows the end", [&] {
    const auto s = q.statistics();
    return !book.end_reported || (s.size == 0 && s.held == 0);
  });
  leat::task_group producers("producers");
  leat::task_group consumers("consumers");
  leat::task_group patient("patient consumers");  // they are not stopped
  std::exception_ptr error;
  for (std::size_t i = 0; i < 1 + below(w, 4); ++i) {
    producers.spawn_on(w.thread(i % w.threads()), push_items(w, q, book), "producer");
    consumers.spawn_on(w.thread((i + 1) % w.threads()), pop_items(w, q, book), "consumer");
  }
  if (below(w, 2) == 0) patient.spawn(pop_items(w, q, book), "patient");
  co_await pause(w, 20);
  switch (below(w, 4)) {
    case 0: q.close_and_cancel(); break;
    case 1: q.fail(std::make_exception_ptr(leat::failure(errc::data_loss, "cause"))); break;
    case 2: consumers.request_stop(); break;
    default: q.close();
  }
  producers.request_stop();
  for (leat::task_group* group : {&producers, &consumers, &patient}) {
    co_await join_into(error, *group);
    q.close();
  }
  w.clear_invariants();
  if (error) std::rethrow_exception(error);
  while (const std::optional<int> item = q.try_pop()) book.out.push_back(*item);
  require_same(book.out, book.in);
  const leat::queue_statistics s = q.statistics();
  require(s.held == 0 && s.provisional_pops == 0, "a pop is provisional at the end");
  require(s.pushed == s.popped && s.weight == 0, "statistics are not consistent");
}

// Items have no weight, a weight, or a weight and a budget. An order that takes whole batches gets
// no budget, because no batch may wait for one.
template <class Order>
task<> undo_in_order(world& w) {
  leat::memory_budget budget(12, "budget");
  queue_orders::settings s{.capacity = 3 + below(w, 6), .min_after_dequeue = below(w, 2)};
  s.seed = below(w, 1000);
  const auto weights = below(w, Order::takes_whole_batches ? 2 : 3);
  if (weights == 0) {
    typename Order::template queue<int> q(Order::options(s));
    co_await undo_pops(w, q);
    co_return;
  }
  s.max_weight = weights == 1 ? 9 : 20;
  if (weights == 2) s.budget = &budget;
  typename Order::template queue<int, weigh_once> q(Order::options(s));
  co_await undo_pops(w, q);
}

}  // namespace

task<> undoing(world& w) {
  return with_any_order(w, [&w](auto order) { return undo_in_order<decltype(order)>(w); });
}

}  // namespace simulation
