#include "leat/input/limit_epochs.hpp"

#include <thread>

#include "support/leat_test.hpp"

namespace limit_epochs_test {

using leat::limit_epochs;

task<> count_into(limit_epochs<int> source, int& count) {
  for (;;) {
    const std::optional<int> x = co_await source();
    if (!x) break;
    count += *x;
    co_await leat::this_task::yield();
  }
}

TEST_CASE("limit_epochs: never ends without a limit") {
  const limit_epochs seven(7);
  for (int i = 0; i < 100; ++i) REQUIRE(seven.take() == 7);
}

LEAT_TEST("limit_epochs: returns the value num_epochs times, then the end permanently") {
  const limit_epochs greeting("Love Me", 2);
  CHECK(co_await greeting() == "Love Me");
  CHECK(co_await greeting() == "Love Me");
  CHECK_FALSE(co_await greeting());
  CHECK_FALSE(co_await greeting());
  CHECK_FALSE(greeting.take());
}

TEST_CASE("limit_epochs: refuses a number below 1") {
  for (const std::int64_t n : {std::int64_t{0}, std::int64_t{-1}, INT64_MIN}) {
    const std::string said = refusal([n] { return limit_epochs(7, n); });
    CHECK(contains(said, "limit_epochs"));
    CHECK(contains(said, "num_epochs is " + std::to_string(n)));
  }
}

LEAT_TEST("limit_epochs: tasks share the count, also through copies") {
  const limit_epochs one(1, 100);
  int count[3] = {};
  task_group group;
  for (int& c : count) group.spawn(count_into(one, c));
  co_await group.join();
  CHECK(count[0] + count[1] + count[2] == 100);
  for (const int c : count) CHECK(c > 0);
  CHECK_FALSE(one.take());
}

TEST_CASE("limit_epochs: threads share the count") {
  const limit_epochs one(1, 10'000);
  int count[2] = {};
  {
    std::vector<std::jthread> threads;
    for (int& c : count) {
      threads.emplace_back([&one, &c] {
        while (one.take()) ++c;
      });
    }
  }
  CHECK(count[0] + count[1] == 10'000);
}

LEAT_TEST("limit_epochs: a source outlives its original") {
  task<std::optional<std::string>> next;
  {
    const limit_epochs gone(std::string(100, 'x'), 1);
    next = gone();
  }
  const std::optional<std::string> x = co_await std::move(next);
  CHECK(x == std::string(100, 'x'));
}

}  // namespace limit_epochs_test
