#include "leat/async/scheduler/timer_heap.hpp"

#include <map>

#include "leat/base/random.hpp"
#include "support/leat_test.hpp"

namespace timer_heap_test {

using leat::time_point;
using leat::timer;
using leat::timer_heap;

time_point at(std::int64_t n) { return time_point{} + leat::duration(n); }

struct idle_timer : timer {
  idle_timer() noexcept : timer([](timer&) noexcept {}) {}
};

TEST_CASE("timer_heap: returns the earliest timer first") {
  timer_heap heap;
  idle_timer a, b, c;
  heap.add(b, at(2));
  heap.add(c, at(3));
  heap.add(a, at(1));
  CHECK(heap.earliest() == at(1));
  CHECK(heap.pop_due(at(5)) == &a);
  CHECK(heap.pop_due(at(5)) == &b);
  CHECK(heap.pop_due(at(5)) == &c);
  CHECK(heap.pop_due(at(5)) == nullptr);
}

TEST_CASE("timer_heap: timers for the same time expire in the order in which they were set") {
  timer_heap heap;
  std::vector<std::unique_ptr<idle_timer>> timers;
  for (int i = 0; i < 20; ++i) {
    timers.push_back(std::make_unique<idle_timer>());
    heap.add(*timers.back(), at(7));
  }
  for (const auto& t : timers) CHECK(heap.pop_due(at(7)) == t.get());
}

TEST_CASE("timer_heap: one of the timers for the same time can be put first") {
  timer_heap heap;
  std::vector<std::unique_ptr<idle_timer>> timers;
  std::uint64_t since = 0;
  for (int i = 0; i < 20; ++i) {
    if (i == 10) since = heap.next_order();
    timers.push_back(std::make_unique<idle_timer>());
    heap.add(*timers.back(), at(i == 10 ? 8 : 7));  // the first one since then is later
  }
  CHECK(heap.first_since(heap.next_order()) == nullptr);
  CHECK(heap.first_since(timers[0]->order_) == nullptr);  // it is the first one anyway
  CHECK(heap.first_since(since) == timers[11].get());
  heap.put_first(*timers[11]);
  CHECK(heap.pop_due(at(7)) == timers[11].get());
  for (int i = 0; i < 20; ++i) {
    if (i != 10 && i != 11) CHECK(heap.pop_due(at(7)) == timers[static_cast<std::size_t>(i)].get());
  }
  CHECK(heap.pop_due(at(8)) == timers[10].get());
}

TEST_CASE("timer_heap: a timer is due at its time, not before") {
  timer_heap heap;
  idle_timer t;
  heap.add(t, at(10));
  CHECK(heap.pop_due(at(9)) == nullptr);
  CHECK(heap.pop_due(at(10)) == &t);
}

TEST_CASE("timer_heap: without timers, the earliest time is the maximum") {
  CHECK(timer_heap().earliest() == leat::no_deadline);
}

TEST_CASE("timer_heap: a removed timer does not expire and can be set again") {
  timer_heap heap;
  idle_timer t;
  heap.add(t, at(1));
  CHECK(t.is_set());
  CHECK(heap.remove(t));
  CHECK_FALSE(t.is_set());
  CHECK_FALSE(heap.remove(t));
  CHECK(heap.pop_due(at(5)) == nullptr);
  heap.add(t, at(3));
  CHECK(heap.pop_due(at(5)) == &t);
}

TEST_CASE("timer_heap: agrees with a sorted multimap over random operations") {
  leat::random_engine random(2024);
  timer_heap heap;
  std::multimap<time_point, timer*> model;  // equal keys stay in the order of insertion
  std::vector<std::unique_ptr<idle_timer>> timers(300);
  for (auto& t : timers) t = std::make_unique<idle_timer>();
  std::int64_t now = 0;
  const auto erase = [&](timer* t) {
    for (auto i = model.begin(); i != model.end(); ++i) {
      if (i->second != t) continue;
      model.erase(i);
      return true;
    }
    return false;
  };
  bool agrees = true;
  for (int step = 0; step < 50'000 && agrees; ++step) {
    timer* const t = timers[random.uniform_below(timers.size())].get();
    switch (random.uniform_below(4)) {
      case 0:
      case 1:
        if (t->is_set()) break;
        {
          const time_point when = at(now + static_cast<std::int64_t>(random.uniform_below(50)));
          heap.add(*t, when);
          model.emplace(when, t);
        }
        break;
      case 2: agrees = heap.remove(*t) == erase(t); break;
      default:
        now += static_cast<std::int64_t>(random.uniform_below(4));
        for (timer* due = heap.pop_due(at(now)); due; due = heap.pop_due(at(now))) {
          agrees = agrees && !model.empty() && model.begin()->second == due &&
                   model.begin()->first <= at(now);
          if (!agrees) break;
          model.erase(model.begin());
        }
        agrees = agrees && (model.empty() || model.begin()->first > at(now));
    }
    agrees = agrees && heap.empty() == model.empty() &&
             (model.empty() || heap.earliest() == model.begin()->first);
  }
  CHECK(agrees);
}

}  // namespace timer_heap_test
