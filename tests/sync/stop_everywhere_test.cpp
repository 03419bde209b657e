// A program of producers, consumers and a close, stopped at each point at which one of its tasks
// can be suspended: whatever went in has come out once or is still inside, and nobody waits.

#include <cstddef>
#include <exception>
#include <optional>
#include <set>
#include <vector>

#include "leat/core/task_group.hpp"
#include "leat/sim/virtual_scheduler.hpp"
#include "leat/sync/partial_push.hpp"
#include "sync/queue_operations.hpp"

namespace stop_everywhere_test {

// What the tasks know to have put in and taken out, and who still produces.
struct books {
  std::multiset<int> in;
  std::multiset<int> out;
  int producers = 3;

  void took(const std::vector<int>& items) { out.insert(items.begin(), items.end()); }
};

template <class Queue>
task<> push_singly(Queue& q, int first, books& b) {
  for (int value = first; value < first + 4; ++value) {
    const bool in = co_await q.push(int{value});
    if (in) b.in.insert(value);
  }
  if (--b.producers == 0) q.close();
}

template <class Queue>
task<> push_a_run(Queue& q, int first, books& b) {
  std::vector<int> run;
  for (int value = first; value < first + 7; ++value) run.push_back(value);
  std::vector<int> copy = run;
  std::size_t count = 0;
  std::exception_ptr cancelled;
  try {
    count = co_await q.push_many(copy);
  } catch (const leat::partial_push& e) {
    count = e.count();
    cancelled = std::current_exception();
  }
  b.in.insert(run.begin(), run.begin() + static_cast<std::ptrdiff_t>(count));
  if (cancelled) std::rethrow_exception(cancelled);
  if (--b.producers == 0) q.close();
}

template <class Queue>
task<> pop_singly(Queue& q, books& b) {
  for (;;) {
    const auto item = co_await q.pop();
    if (!item) co_return;
    b.out.insert(*item);
  }
}

template <class Queue>
task<> pop_batches(Queue& q, books& b) {
  for (bool exactly = true;; exactly = !exactly) {
    std::optional<std::vector<int>> batch;
    if (exactly) {
      batch = co_await q.pop_many(2);
    } else {
      batch = co_await q.pop_up_to(2);
      if (!batch) co_return;
    }
    if (batch) b.took(*batch);
  }
}

TEMPLATE_LIST_TEST_CASE("queue: a stop at any point loses and doubles nothing", "[sync]",
                        all_queues) {
  int points = 0;
  bool in_time = true;
  for (; in_time; ++points) {
    leat::sim::virtual_scheduler home;
    auto q = TestType::make(2);
    books b;
    leat::task_group work;
    work.spawn_on(home, push_singly(q, 100, b));
    work.spawn_on(home, push_a_run(q, 200, b));
    work.spawn_on(home, push_singly(q, 300, b));
    work.spawn_on(home, pop_singly(q, b));
    work.spawn_on(home, pop_batches(q, b));
    for (int i = 0; i < points; ++i) home.run_now(1);  // one task, to where it waits
    in_time = work.live_tasks() > 0;
    work.request_stop();
    home.run_to_end();
    const auto s = q.statistics();
    CHECK(s.waiting_pushes + s.waiting_pops == 0);
    while (const auto item = q.try_pop()) b.out.insert(*item);
    CHECK(b.in == b.out);
    if (!in_time) CHECK(b.in.size() == 15);
  }
  CHECK(points > 10);
}

}  // namespace stop_everywhere_test
