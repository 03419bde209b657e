// Batches in the memory of earlier ones need no allocation.

#include <tuple>

#include "faults/failing_allocations.hpp"
#include "leat/base/internal/sanitizers.hpp"
#include "queue/operation/queue_tasks.hpp"
#include "support/leat_test.hpp"

namespace batch_memory_test {

#if !LEAT_ASAN  // whose build of the library does not recycle frames

using leat_test::made;

constexpr int rounds = 100;

// Pushes batches of three items. Alternately, the consumer waits for a batch and finds it.
template <class Queue>
task<> produce(Queue& q) {
  std::vector<int> items(3);
  for (int i = 0; i < rounds; ++i) {
    co_await q.push_many(items);
    if (i % 2 == 0) co_await leat::this_task::yield();
  }
  q.close();
}

// Returns the number of allocations after the first two batches.
template <class Queue>
task<> consume(Queue& q, std::ptrdiff_t& allocations) {
  std::vector<int> memory;
  memory = *co_await q.pop_many(3, std::move(memory));
  memory = *co_await q.pop_up_to(3, std::move(memory));
  const std::ptrdiff_t before = made;
  for (bool whole = true; auto batch = co_await q.pop_up_to(3, std::move(memory)); whole = !whole) {
    memory = std::move(*batch);
    if (!whole) continue;
    auto next = co_await q.pop_many(3, std::move(memory));
    if (next) memory = std::move(*next);
  }
  allocations = made - before;
}

TEMPLATE_LIST_TEST_CASE("queue: batches in reused memory allocate nothing", "[faults]",
                        all_queues) {
  leat::block_on([]() -> task<> {
    auto q = TestType::make(6);
    std::ptrdiff_t allocations = -1;
    leat::task_group group;
    group.spawn(consume(q, allocations));
    group.spawn(produce(q));
    co_await group.join();
    CHECK(allocations == 0);
  }());
}

#endif

}  // namespace batch_memory_test
