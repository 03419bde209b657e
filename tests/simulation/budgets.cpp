// Queues of all kinds share one budget, on several threads. Producers and consumers are stopped,
// select among queues and time out. Queues close, fail and are destroyed. The budget is never
// exceeded, nothing is lost, and no task waits indefinitely.

#include <array>
#include <functional>
#include <variant>

#include "leat/sim/world/delivery_log.hpp"
#include "simulation/steps.hpp"

namespace simulation {
namespace {

using namespace std::chrono_literals;
using leat::errc;
using leat::task;
using leat::sim::world;

struct parcel {
  std::uint64_t id;
  std::size_t weight;
};
struct by_weight {
  std::size_t operator()(const parcel& p) const { return p.weight; }
};
struct by_id {
  bool operator()(const parcel& a, const parcel& b) const { return a.id < b.id; }
};

// A queue of some kind, and its operations.
struct outlet {
  std::function<task<bool>(parcel)> push;
  std::function<task<bool>(parcel)> push_in_time;  // with a short timeout
  std::function<task<std::size_t>(std::vector<parcel>&)> push_many;
  std::function<bool(parcel)> try_push;
  std::function<task<std::optional<parcel>>()> pop;
  std::function<task<std::optional<parcel>>()> pop_in_time;
  std::function<task<std::optional<std::vector<parcel>>>(std::size_t)> pop_up_to;
  std::function<std::optional<parcel>()> try_pop;
  std::shared_ptr<leat::queue_base> base;
  std::size_t largest_batch = 1;
};

template <class Queue>
outlet make_outlet(world& w, std::shared_ptr<Queue> q, std::size_t largest_batch) {
  w.add_invariants(*q);
  return {.push = [q](parcel p) -> task<bool> { co_return co_await q->push(std::move(p)); },
          .push_in_time = [q](parcel p) -> task<bool> {
            co_return co_await leat::with_timeout(q->push(std::move(p)), 3us);
          },
          .push_many = [q](std::vector<parcel>& all) -> task<std::size_t> {
            co_return co_await q->push_many(all);
          },
          .try_push = [q](parcel p) { return q->try_push(std::move(p)); },
          .pop = [q]() -> task<std::optional<parcel>> { co_return co_await q->pop(); },
          .pop_in_time = [q]() -> task<std::optional<parcel>> {
            co_return co_await leat::with_timeout(q->pop(), 3us);
          },
          .pop_up_to = [q](std::size_t count) -> task<std::optional<std::vector<parcel>>> {
            co_return co_await q->pop_up_to(count);
          },
          .try_pop = [q] { return q->try_pop(); },
          .base = q,
          .largest_batch = largest_batch};
}

outlet make_outlet(world& w, leat::memory_budget& budget) {
  queue_orders::settings s{.budget = &budget, .capacity = 1 + below(w, 6)};
  if (below(w, 2) == 0) s.max_weight = 8;
  s.min_after_dequeue = below(w, s.capacity);
  s.seed = w.random()();
  return with_any_order(w, [&]<class Order>(Order) {
    using queue = typename Order::template queue<parcel, by_weight, by_id>;
    return make_outlet(w, std::make_shared<queue>(Order::options(s)),
                       Order::takes_whole_batches ? 1 : 6);
  });
}

bool is_expected(const leat::failure& e) {
  return e.code() == errc::cancelled || e.code() == errc::deadline_exceeded ||
         e.code() == errc::data_loss || e.code() == errc::resource_exhausted;
}

struct books {
  leat::sim::delivery_log deliveries{"parcels", false};
  std::uint64_t next = 0;

  parcel fresh(world& w, std::uint64_t producer) {
    const parcel p{next++, below(w, 9)};
    deliveries.record_push(producer, p.id);
    return p;
  }
};

task<> push_run(world& w, outlet& to, books& b, std::uint64_t self) {
  std::vector<parcel> all;
  for (std::uint64_t i = below(w, 5); i > 0; --i) all.push_back(b.fresh(w, self));
  std::vector<parcel> moving = all;
  std::size_t in = 0;
  std::exception_ptr error;
  try {
    in = co_await to.push_many(moving);
  } catch (const leat::partial_push_error& e) {
    in = e.count();
    error = std::current_exception();
  } catch (...) {
    error = std::current_exception();
  }
  for (std::size_t i = in; i < all.size(); ++i) b.deliveries.record_rejected(all[i].id);
  if (error) std::rethrow_exception(error);
}

task<> push_one_of(world& w, outlet& to, books& b, std::uint64_t self) {
  const parcel p = b.fresh(w, self);
  bool in = false;
  std::exception_ptr error;
  try {
    switch (below(w, 3)) {
      case 0: in = co_await to.push(p); break;
      case 1: in = co_await to.push_in_time(p); break;
      default: in = to.try_push(p);
    }
  } catch (...) {
    error = std::current_exception();
  }
  if (!in) b.deliveries.record_rejected(p.id);
  if (error) std::rethrow_exception(error);
}

task<> produce(world& w, outlet& to, books& b, std::uint64_t self) {
  for (std::uint64_t round = 2 + below(w, 6); round > 0; --round) {
    if (below(w, 4) == 0) co_await pause(w, 5);
    try {
      if (below(w, 3) == 0) {
        co_await push_run(w, to, b, self);
      } else {
        co_await push_one_of(w, to, b, self);
      }
    } catch (const leat::failure& e) {
      require(is_expected(e), e.what());
      if (e.code() == errc::cancelled) co_return;
    }
  }
}

// Returns true if there may be more items.
task<bool> take(world& w, outlet& from, books& b, std::uint64_t self) {
  const std::uint64_t kind = below(w, 4);
  if (kind == 3) {
    const auto count = below(w, from.largest_batch + 1);
    const std::optional<std::vector<parcel>> all = co_await from.pop_up_to(count);
    if (!all) co_return false;
    for (const parcel& p : *all) b.deliveries.record_pop(self, p.id);
    co_return true;
  }
  std::optional<parcel> p;
  if (kind == 0) p = co_await from.pop();
  if (kind == 1) p = co_await from.pop_in_time();
  if (kind == 2) p = from.try_pop();
  if (p) b.deliveries.record_pop(self, p->id);
  if (!p && kind == 2) co_await leat::sleep_for(1us);
  co_return p || kind == 2;
}

task<> consume(world& w, outlet& from, books& b, std::uint64_t self) {
  for (;;) {
    try {
      const bool more = co_await take(w, from, b, self);
      if (!more) co_return;
    } catch (const leat::failure& e) {
      require(is_expected(e), e.what());
      if (e.code() == errc::cancelled || e.code() == errc::data_loss) co_return;
    }
  }
}

// Queues of one budget between producers and consumers, and the end of these queues.
class exercise {
 public:
  explicit exercise(world& w) : w_(w), outlets_(2 + below(w, 3)) { w.add_invariants(budget_); }

  task<> run() {
    std::exception_ptr error;
    try {
      co_await go();
    } catch (...) {
      error = std::current_exception();
    }
    for (leat::task_group* group : {&producers_, &consumers_, &patient_}) {
      co_await join_into(error, *group);
      for (outlet& o : outlets_) {
        if (o.base) o.base->close();
      }
    }
    w_.clear_invariants();
    if (error) std::rethrow_exception(error);
    check();
  }

 private:
  task<> go() {
    std::uint64_t who = 0;
    for (outlet& o : outlets_) {
      o = make_outlet(w_, budget_);
      for (std::uint64_t i = below(w_, 3); i > 0; --i) {
        producers_.spawn_on(any_thread(w_), produce(w_, o, books_, ++who), "producer");
      }
      consumers_.spawn_on(any_thread(w_), consume(w_, o, books_, ++who), "consumer");
      patient_.spawn_on(any_thread(w_), consume(w_, o, books_, ++who), "patient");
    }
    if (below(w_, 3) == 0) {
      co_await pause(w_, 10);
      consumers_.request_stop();
    }
    if (below(w_, 3) == 0) {
      co_await pause(w_, 10);
      end(*outlets_[0].base);
    }
    if (below(w_, 4) == 0) producers_.request_stop();
  }

  void end(leat::queue_base& q) {
    switch (below(w_, 3)) {
      case 0: q.close(); break;
      case 1: q.close_and_cancel(); break;
      default: q.fail(std::make_exception_ptr(leat::failure(errc::data_loss, "cause")));
    }
  }

  void check() {
    std::size_t inside = 0;
    std::size_t weight = 0;
    for (const outlet& o : outlets_) {
      const leat::queue_statistics s = o.base->statistics();
      require(s.waiting_pops == 0 && s.waiting_pushes == 0,
              "operations wait at the end of a queue");
      inside += s.size;
      weight += s.weight;
    }
    books_.deliveries.check_complete(inside);
    require(budget_.used() == weight, "budget counts weight that is not in a queue");
    outlets_.clear();
    require(budget_.used() == 0, "budget counts destroyed queues");
  }

  world& w_;
  leat::memory_budget budget_{8 + below(w_, 8), "memory"};
  std::vector<outlet> outlets_;
  books books_;
  leat::task_group producers_{"producers"};
  leat::task_group consumers_{"consumers"};
  leat::task_group patient_{"patient consumers"};  // not stopped, so that they pop all items
};

}  // namespace

task<> budgets(world& w) {
  exercise e(w);
  co_await e.run();
}

}  // namespace simulation
