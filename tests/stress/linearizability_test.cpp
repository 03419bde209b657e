// Short random histories on real threads. An order of the operations, each between its call and its
// return, must explain the results of all threads.
//
// The tests cover queues of each order, single items and batches, and closes of both kinds.
// Operations never wait, block their thread, or run in tasks that are stopped before or during a
// wait. If all threads wait, the main thread pops or pushes items, closes the queue or stops a
// task.
//
// LEAT_HISTORIES sets the number of histories of each kind (default: 4,000, or 1,000 under the
// address sanitizer). `./dev campaign histories` takes 1,000,000.

#include <cstdlib>
#include <type_traits>

#include "leat/queue.hpp"
#include "queue/orders.hpp"
#include "stress/queue_model.hpp"
#include "stress/recorder.hpp"

namespace linearizability_test {

using leat::task;
using queue_model::ending;
using queue_model::explainable;
using queue_model::history;
using queue_model::kind;
using queue_model::operation;
using recorded::form;
using recorded::operations_each;
using recorded::threads;

constexpr std::size_t capacity = 2;

template <class Order>
queue_model::rules rules_of() {
  return {Order::next, capacity, Order::has_minimum ? std::size_t{1} : 0};
}

// ---- Carries out operations and records their results.

void pushed(operation& o, std::size_t count) {
  o.moved = count;
  const bool tried_some = o.what == kind::try_push && count > 0;
  o.end = tried_some || count == o.items.size() ? ending::done : ending::nothing;
}

template <class Items>
void popped(operation& o, Items&& items) {
  o.end = items ? ending::done : ending::nothing;
  if (!items) return;
  if constexpr (std::is_same_v<std::decay_t<Items>, std::optional<int>>) {
    o.items = {*items};
  } else {
    o.items = *items;
  }
}

void was_cancelled(operation& o, std::size_t in = 0) {
  o.moved = in;
  o.end = ending::cancelled;
}

template <class Queue>
void do_at_once(Queue& q, operation& o) {
  std::vector<int> run = o.items;
  switch (o.what) {
    case kind::try_push:
      pushed(o, run.size() == 1 ? std::size_t{q.try_push(int{run[0]})} : q.try_push_many(run));
      break;
    case kind::try_pop_many:
      o.count == 1 ? popped(o, q.try_pop()) : popped(o, q.try_pop_many(o.count));
      break;
    case kind::try_pop_up_to: popped(o, q.try_pop_up_to(o.count)); break;
    case kind::size: o.moved = q.size(); break;
    case kind::close: o.moved = q.close() ? 1 : 0; break;
    case kind::close_and_cancel: q.close_and_cancel(); break;
    default: std::abort();  // a waiting operation
  }
}

template <class Queue>
void do_blocking(Queue& q, operation& o) {
  std::vector<int> run = o.items;
  try {
    switch (o.what) {
      case kind::push:
        pushed(o, run.size() == 1 ? std::size_t{leat::block_on(q.push(int{run[0]}))}
                                  : leat::block_on(q.push_many(run)));
        break;
      case kind::pop_many:
        o.count == 1 ? popped(o, leat::block_on(q.pop()))
                     : popped(o, leat::block_on(q.pop_many(o.count)));
        break;
      case kind::pop_up_to: popped(o, leat::block_on(q.pop_up_to(o.count))); break;
      default: do_at_once(q, o);
    }
  } catch (const leat::partial_push_error& e) {
    was_cancelled(o, e.count());
  } catch (const leat::failure&) {
    was_cancelled(o);
  }
}

template <class Queue>
task<> do_in_task(Queue& q, operation& o) {
  std::vector<int> run = o.items;
  try {
    switch (o.what) {
      case kind::push: {
        std::size_t in = 0;
        if (run.size() == 1) {
          const bool went_in = co_await q.push(int{run[0]});
          in = went_in ? 1 : 0;
        } else {
          in = co_await q.push_many(run);
        }
        pushed(o, in);
        break;
      }
      case kind::pop_many: {
        if (o.count == 1) {
          popped(o, co_await q.pop());
        } else {
          popped(o, co_await q.pop_many(o.count));
        }
        break;
      }
      case kind::pop_up_to: popped(o, co_await q.pop_up_to(o.count)); break;
      default: do_at_once(q, o);
    }
  } catch (const leat::partial_push_error& e) {
    was_cancelled(o, e.count());
  } catch (const leat::failure&) {
    was_cancelled(o);
  }
}

template <class Order>
class queue_recorder final : public recorded::recorder<operation> {
 public:
  using recorder::recorder;

 private:
  void make_tested() override {
    queue_.emplace(Order::options({.capacity = capacity, .min_after_dequeue = 1, .seed = 1}));
  }

  bool choose_next(std::size_t self, operation& o) override {
    if (parts_[self].size() == operations_each) return false;
    o = any_operation(self, parts_[self].size());
    return true;
  }

  void perform(operation& o) override {
    if (o.what == kind::stop) {
      groups_[o.thread]->request_stop();
    } else {
      do_blocking(*queue_, o);
    }
  }
  task<> perform_in_task(std::size_t, operation& o) override { return do_in_task(*queue_, o); }

  // Acts if no thread can proceed: up to six times in a random way, then by close_and_cancel().
  void help(history& all) override {
    const std::size_t finished = finished_;  // first: a waiting thread has not finished since
    const auto s = queue_->statistics();
    if (finished == threads || s.waiting_pops + s.waiting_pushes + finished != threads) return;
    const std::uint64_t way = all.size() < 6 ? helping_.uniform_below(5) : 0;
    operation o;
    o.thread = threads;
    if (way >= 3 && form_ == form::in_tasks) {
      o.what = kind::stop;
      while (has_finished_[o.thread = static_cast<std::size_t>(helping_.uniform_below(threads))]) {
      }
      carry_out(o);
      while (!has_finished_[o.thread]) std::this_thread::yield();
    } else if (way == 0) {
      o.what = kind::close_and_cancel;
      carry_out(o);
    } else if (s.waiting_pushes > 0) {
      o.what = kind::try_pop_up_to;
      o.count = way == 1 ? 1 : 2;
      carry_out(o);
    } else if (way == 1) {
      o.what = kind::close;
      carry_out(o);
    } else {
      o.what = kind::try_push;
      o.items = {static_cast<int>(100 + all.size())};
      carry_out(o);
    }
    all.push_back(std::move(o));
  }

  operation any_operation(std::size_t self, std::size_t number) {
    leat::random_engine& random = *random_[self];
    const bool waits = form_ != form::at_once && random.uniform_below(4) != 0;
    operation o;
    o.thread = self;
    const std::uint64_t which = random.uniform_below(24);
    if (which == 0) {
      o.what = kind::size;
    } else if (which == 1) {
      o.what = random.uniform_below(2) == 0 ? kind::close : kind::close_and_cancel;
    } else if (which == 2 && form_ == form::in_tasks) {
      o.what = kind::stop;
      o.thread = static_cast<std::size_t>(random.uniform_below(threads));
    } else if (which < 13) {
      o.what = waits ? kind::push : kind::try_push;
      const int first = static_cast<int>(random.uniform_below(8) * 1000 + self * 100 + number * 10);
      const int count = how_many(random, 3);
      for (int i = 0; i < count; ++i) o.items.push_back(first + i);
    } else {
      const bool up_to = random.uniform_below(3) == 0;
      o.what = up_to ? kind::pop_up_to : kind::pop_many;
      if (!waits) o.what = up_to ? kind::try_pop_up_to : kind::try_pop_many;
      o.count = static_cast<std::size_t>(how_many(random, most_popped));
    }
    return o;
  }

  static int how_many(leat::random_engine& random, std::size_t most) {
    return random.uniform_below(2) == 0 ? 1 : 2 + static_cast<int>(random.uniform_below(most - 1));
  }

  // A queue that takes whole batches rejects larger ones.
  static constexpr std::size_t most_popped = Order::takes_whole_batches ? capacity : 3;

  std::optional<typename Order::template queue<int>> queue_;
};

// ---- The cases.

// Changes a result as if the queue had made one error; returns false if no change is possible.
bool make_wrong(operation& o) {
  switch (o.what) {
    case kind::try_push:
    case kind::push:
      if (o.end == ending::nothing && o.moved == 0) return false;  // it may have taken effect later
      --o.moved;                                                   // one item too few is reported
      return true;
    case kind::size: ++o.moved; return true;
    case kind::close: o.moved = 1 - o.moved; return true;
    case kind::close_and_cancel:
    case kind::stop: return false;
    default:
      if (o.items.empty()) return false;
      o.items.pop_back();  // lost
      if (o.items.empty()) o.end = ending::nothing;
      return true;
  }
}

TEMPLATE_LIST_TEST_CASE(
    "linearizability: an order explains each history of four threads on a queue", "[stress]",
    queue_orders::all) {
  const form f = GENERATE(form::at_once, form::blocking, form::in_tasks);
  INFO("form " << static_cast<int>(f));
  queue_recorder<TestType> r(1, f);
  const auto explains = [](const history& all) { return explainable(all, rules_of<TestType>()); };
  auto seen = recorded::check_histories(r, explains, make_wrong);
  if (f == form::at_once) return;
  const int histories = recorded::history_count();
  CHECK(r.stuck() > histories / 100);
  CHECK(r.stuck() < histories);
  CHECK(seen[{kind::push, ending::cancelled}] > histories / 100);
  if (f == form::in_tasks) CHECK(seen[{kind::pop_many, ending::cancelled}] > histories / 100);
}

}  // namespace linearizability_test
