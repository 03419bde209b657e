#include "leat/sync/watch.hpp"

#include "support/leat_test.hpp"

namespace watch_receiver_test {

using leat::watch;

LEAT_TEST("watch: a receiver has seen the value at subscribe(), and then each that it returns",
          "[sync]") {
  watch<int> limit(1, "limit");
  limit.set(2);
  auto changes = limit.subscribe();
  CHECK_FALSE(changes.try_changed());
  limit.set(3);
  limit.set(4);
  CHECK(co_await changes.changed() == 4);
  CHECK_FALSE(changes.try_changed());
  limit.set(5);
  CHECK(changes.try_changed() == 5);
  limit.set(6);
  CHECK(changes.get() == 6);
  CHECK_FALSE(changes.try_changed());
}

LEAT_TEST("watch: each receiver counts for itself, and a copy has seen the same", "[sync]") {
  watch<int> limit(1, "limit");
  auto first = limit.subscribe();
  limit.set(2);
  auto copy = first;
  CHECK(co_await first.changed() == 2);
  CHECK_FALSE(first.try_changed());
  CHECK(co_await copy.changed() == 2);
}

LEAT_TEST("watch: a limit that ends changed() of a receiver leaves the change unseen", "[sync]") {
  watch<int> limit(1, "limit");
  auto changes = limit.subscribe();
  const auto late = co_await leat::as_tuple(leat::with_timeout(changes.changed(), 1ms));
  CHECK(late.error == leat::errc::deadline_exceeded);
  limit.set(2);
  CHECK(co_await changes.changed() == 2);
}

LEAT_TEST("watch: a receiver gets the last value after close(), and then nothing", "[sync]") {
  watch<int> limit(1, "limit");
  auto changes = limit.subscribe();
  limit.set(2);
  limit.close();
  CHECK(co_await changes.changed() == 2);
  CHECK_FALSE(co_await changes.changed());
}

LEAT_TEST("watch: a waiting receiver wakes at the change", "[sync]") {
  watch<int> limit(1, "limit");
  co_await leat::with_task_group([&limit](leat::task_group& group) -> leat::task<> {
    auto changes = limit.subscribe();
    group.spawn([&limit]() -> leat::task<> {
      co_await leat::sleep_for(1ms);
      limit.set(7);
    });
    CHECK(co_await changes.changed() == 7);
  });
}

}  // namespace watch_receiver_test
