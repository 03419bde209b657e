// Tasks that are spawned and joined need no memory but their frames, which are recycled.

#include "faults/failing_allocations.hpp"
#include "leat/base/internal/sanitizers.hpp"
#include "support/leat_test.hpp"

namespace scope_memory_test {

using leat_test::allocations_of;

#if !LEAT_ASAN  // whose build of the library does not recycle frames

task<> nothing() { co_return; }
task<int> one() { co_return 1; }

task<> spawn_one() {
  leat::task_group group;
  group.spawn(nothing());
  co_await group.join();
}
task<> spawn_in_nested_groups() {
  leat::task_group outer;
  outer.spawn(spawn_one());
  outer.spawn(spawn_one());
  co_await outer.join();
}
task<> join_two() { co_await leat::when_all(one(), nothing()); }
task<> join_any() { co_await leat::when_any(one(), one()); }

TEST_CASE("task_group: spawning and joining a task allocates nothing but frames", "[faults]") {
  CHECK(leat::block_on(allocations_of(spawn_one)) == 0);
  CHECK(leat::block_on(allocations_of(spawn_in_nested_groups)) == 0);
}

TEST_CASE("when_all: joining two tasks allocates nothing but frames", "[faults]") {
  CHECK(leat::block_on(allocations_of(join_two)) == 0);
  CHECK(leat::block_on(allocations_of(join_any)) == 0);
}

leat::async_generator<int> count_forever() {
  for (int i = 0;; ++i) co_yield i;
}
task<> read_three() {
  auto all = count_forever();
  for (int i = 0; i < 3; ++i) static_cast<void>(co_await all.next());
}

TEST_CASE("async_generator: a generator and its values allocate nothing but frames", "[faults]") {
  CHECK(leat::block_on(allocations_of(read_three)) == 0);
  auto all = count_forever();
  const auto read_one = [&]() -> task<> { static_cast<void>(co_await all.next()); };
  CHECK(leat::block_on(allocations_of(read_one)) == 0);
}

#endif

}  // namespace scope_memory_test
