// Tasks that await each other under thousands of nested limits.

#include <functional>
#include <pthread.h>

#include "support/dump.hpp"
#include "support/leat_test.hpp"

namespace nested_limits_test {

task<> nested_limits(int levels) {
  if (levels == 0) {
    co_await leat::sleep_for(1000h);
  } else {
    co_await leat::with_timeout(nested_limits(levels - 1), 2000h);
  }
}

constexpr int many_levels = 5000;

// Calls `f` on a thread with a small stack.
void run_on_small_stack(std::function<void()> f) {
  ::pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, std::size_t{512} << 10);
  ::pthread_t thread{};
  REQUIRE(::pthread_create(
              &thread, &attributes,
              [](void* function) -> void* {
                (*static_cast<std::function<void()>*>(function))();
                return nullptr;
              },
              &f) == 0);
  ::pthread_join(thread, nullptr);
  ::pthread_attr_destroy(&attributes);
}

TEST_CASE("task_group: a stop of many nested limits needs no stack") {
  bool stopped = false;
  run_on_small_stack([&] {
    leat::sim::virtual_scheduler s;
    task_group group;
    group.spawn_on(s, nested_limits(many_levels));
    while (s.run_now()) {
    }
    group.request_stop();
    while (s.run_now()) {
    }
    stopped = group.live_tasks() == 0;
    leat::block_on(group.join());
  });
  CHECK(stopped);
}

// Fewer levels: a dump recurses, and the thread sanitizer has a stack of 65,536 calls.
LEAT_TEST("dump: many nested limits take a few lines each") {
  constexpr int levels = 1000;
  task_group group;
  group.spawn(nested_limits(levels));
  co_await leat::sleep_for(1h);
  const std::size_t bytes = leat_test::dump().size();
  group.request_stop();
  co_await group.join();
  CHECK(bytes > levels * 50);
  CHECK(bytes < levels * 1000);
}

}  // namespace nested_limits_test
