#include "leat/async/blocking/blocking_pool.hpp"

#include <atomic>
#include <thread>

#include "support/child_process.hpp"
#include "support/dump.hpp"
#include "support/leat_test.hpp"

namespace blocking_pool_test {

using leat::blocking_pool;
using leat::run_blocking;

task<int> add_one(blocking_pool& pool, int n) {
  const auto f = [n] { return n + 1; };
  co_return co_await run_blocking(pool, f);
}

TEST_CASE("blocking_pool: a limit of 0 is rejected") {
  CHECK(error_of([] { const blocking_pool pool({.threads = 0}); }) ==
        "blocking_pool_options::threads is 0: use 1 or more: invalid argument");
}

/// A function that blocks until it is released.
struct gate {
  std::atomic<bool> open{false};
  std::atomic<int> entered{0};
  std::atomic<int> left{0};

  task<> pass_in(blocking_pool& pool) {
    const auto f = [this] {
      ++entered;
      while (!open) std::this_thread::sleep_for(50us);
      ++left;
    };
    co_await run_blocking(pool, f);
  }
  // Occupies the only thread of a pool, and waits until another task waits for it.
  task<> occupy(blocking_pool& pool, task_group& group) {
    group.spawn(pass_in(pool), "first");
    while (entered == 0) co_await leat::sleep_for(100us);
    group.spawn(pass_in(pool), "second");
    while (pool.statistics().waiting == 0) co_await leat::sleep_for(100us);
  }
};

LEAT_REAL_TIME_TEST("blocking_pool: starts threads as needed, up to its limit") {
  blocking_pool pool({.threads = 3, .name = "decode"});
  CHECK(pool.name() == "decode");
  CHECK(pool.limit() == 3);
  CHECK(pool.statistics().threads == 0);
  co_await add_one(pool, 1);
  CHECK(pool.statistics().threads == 1);
  gate g;
  task_group group;
  for (int i = 0; i < 5; ++i) group.spawn(g.pass_in(pool));
  while (pool.statistics().waiting != 2) co_await leat::sleep_for(100us);
  CHECK(pool.statistics().threads == 3);
  CHECK(pool.statistics().busy == 3);
  g.open = true;
  co_await group.join();
  CHECK(pool.statistics().waiting == 0);
}

LEAT_REAL_TIME_TEST("blocking_pool: one thread serves consecutive functions") {
  blocking_pool pool({.threads = 8});
  int n = 0;
  for (int i = 0; i < 100; ++i) {
    while (pool.statistics().busy > 0) co_await leat::sleep_for(10us);
    n = co_await add_one(pool, n);
  }
  CHECK(n == 100);
  CHECK(pool.statistics().threads == 1);
}

LEAT_REAL_TIME_TEST("blocking_pool: may be destroyed while functions wait and run") {
  auto pool = std::make_unique<blocking_pool>(leat::blocking_pool_options{.threads = 1});
  gate g;
  task_group group;
  for (int i = 0; i < 3; ++i) group.spawn(g.pass_in(*pool));
  while (pool->statistics().waiting != 2) co_await leat::sleep_for(100us);
  pool.reset();
  g.open = true;
  co_await group.join();
  CHECK(g.left == 3);
}

LEAT_REAL_TIME_TEST(
    "blocking_pool: a dump lists the running function and the tasks that wait for a thread") {
  blocking_pool pool({.threads = 1, .name = "decode"});
  gate g;
  task_group group("decoders");
  co_await g.occupy(pool, group);
  const std::string text = leat_test::dump();
  const std::string json = leat_test::dump(leat::dump_format::json);
  g.open = true;
  co_await group.join();
  CAPTURE(text, json);
  CHECK(contains(text, "first: run_blocking in pool 'decode' (running for 0."));
  CHECK(contains(text, " s on thread "));
  CHECK(contains(text,
                 "second: run_blocking in pool 'decode' (waits for a thread, 1 of 1 busy), at "
                 "blocking_pool_test.cpp:"));
  CHECK(contains(text,
                 "blocking pool 'decode' (1 of 1 threads busy), 1 operation waits\n"
                 "  run_blocking of second, at blocking_pool_test.cpp:"));
  CHECK(json.find(R"("type":"blocking pool","name":"decode")") != std::string::npos);
}

LEAT_REAL_TIME_TEST(
    "blocking_pool: a dump names a pool that was destroyed while functions wait and run") {
  auto pool =
      std::make_unique<blocking_pool>(leat::blocking_pool_options{.threads = 1, .name = "decode"});
  gate g;
  task_group group("decoders");
  co_await g.occupy(*pool, group);
  pool.reset();
  const std::string json = leat_test::dump(leat::dump_format::json);
  g.open = true;
  co_await group.join();
  const std::string wait = R"("type":"blocking pool","name":"decode")";
  const std::size_t first = json.find(wait);
  CHECK(first != std::string::npos);
  CHECK(json.find(wait, first + 1) != std::string::npos);
}

TEST_CASE("blocking_pool: a child of fork starts its own threads") {
  blocking_pool pool({.threads = 2});
  CHECK(leat::block_on(add_one(pool, 1)) == 2);
  CHECK(leat::block_on(add_one(leat::default_blocking_pool(), 1)) == 2);
  const std::string answer = leat_test::run_in_child([&] {
    const std::size_t inherited = pool.statistics().threads;
    const int sum = leat::block_on(add_one(pool, 20)) +
                    leat::block_on(add_one(leat::default_blocking_pool(), 20));
    return std::to_string(inherited) + " " + std::to_string(sum);
  });
  CHECK(answer == "0 42");
}

}  // namespace blocking_pool_test
