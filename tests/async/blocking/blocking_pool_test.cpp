#include "leat/async/blocking/blocking_pool.hpp"

#include <atomic>
#include <sstream>
#include <thread>

#include "support/child_process.hpp"
#include "support/leat_test.hpp"

namespace blocking_pool_test {

using leat::blocking_pool;
using leat::run_blocking;

task<int> add_one(blocking_pool& pool, int n) {
  const auto f = [n] { return n + 1; };
  co_return co_await run_blocking(pool, f);
}

TEST_CASE("blocking_pool: a limit of 0 is rejected") {
  std::string error;
  try {
    const blocking_pool pool({.threads = 0});
  } catch (const leat::failure& e) {
    error = e.what();
  }
  CHECK(error == "blocking_pool_options::threads is 0: use 1 or more: invalid argument");
}

TEST_CASE("blocking_pool: starts threads as needed, up to its limit") {
  blocking_pool pool({.threads = 3, .name = "decode"});
  CHECK(pool.name() == "decode");
  CHECK(pool.limit() == 3);
  CHECK(pool.statistics().threads == 0);
  leat::block_on([](blocking_pool& p) -> task<> {
    co_await add_one(p, 1);
    CHECK(p.statistics().threads == 1);
    std::atomic<bool> open{false};
    task_group group;
    for (int i = 0; i < 5; ++i) {
      group.spawn([](blocking_pool& b, std::atomic<bool>& o) -> task<> {
        const auto f = [&o] {
          while (!o) std::this_thread::sleep_for(50us);
        };
        co_await run_blocking(b, f);
      }(p, open));
    }
    while (p.statistics().waiting != 2) co_await leat::sleep_for(100us);
    CHECK(p.statistics().threads == 3);
    CHECK(p.statistics().busy == 3);
    open = true;
    co_await group.join();
    CHECK(p.statistics().waiting == 0);
  }(pool));
}

TEST_CASE("blocking_pool: one thread serves consecutive functions") {
  blocking_pool pool({.threads = 8});
  leat::block_on([](blocking_pool& p) -> task<> {
    int n = 0;
    for (int i = 0; i < 100; ++i) {
      while (p.statistics().busy > 0) co_await leat::sleep_for(10us);
      n = co_await add_one(p, n);
    }
    CHECK(n == 100);
    CHECK(p.statistics().threads == 1);
  }(pool));
}

TEST_CASE("blocking_pool: may be destroyed while functions wait and run") {
  std::optional<blocking_pool> pool(std::in_place, leat::blocking_pool_options{.threads = 1});
  leat::block_on([](std::optional<blocking_pool>& p) -> task<> {
    std::atomic<bool> open{false};
    std::atomic<int> calls{0};
    task_group group;
    for (int i = 0; i < 3; ++i) {
      group.spawn([](blocking_pool& b, std::atomic<bool>& o, std::atomic<int>& c) -> task<> {
        const auto f = [&] {
          while (!o) std::this_thread::sleep_for(50us);
          ++c;
        };
        co_await run_blocking(b, f);
      }(*p, open, calls));
    }
    while (p->statistics().waiting != 2) co_await leat::sleep_for(100us);
    p.reset();
    open = true;
    co_await group.join();
    CHECK(calls == 3);
  }(pool));
}

task<> wait_in_pool(blocking_pool& pool, std::atomic<bool>& entered, std::atomic<bool>& open) {
  const auto f = [&] {
    entered = true;
    while (!open) std::this_thread::sleep_for(50us);
  };
  co_await run_blocking(pool, f);
}

TEST_CASE("blocking_pool: a dump lists the running function and the tasks that wait for a thread") {
  blocking_pool pool({.threads = 1, .name = "decode"});
  std::string text;
  std::string json;
  leat::block_on([](blocking_pool& p, std::string& t, std::string& j) -> task<> {
    std::atomic<bool> entered{false};
    std::atomic<bool> open{false};
    task_group group("decoders");
    group.spawn(wait_in_pool(p, entered, open), "first");
    while (!entered) co_await leat::sleep_for(100us);
    group.spawn(wait_in_pool(p, entered, open), "second");
    while (p.statistics().waiting == 0) co_await leat::sleep_for(100us);
    std::ostringstream out;
    leat::dump(out);
    t = out.str();
    std::ostringstream as_json;
    leat::dump(as_json, leat::dump_format::json);
    j = as_json.str();
    open = true;
    co_await group.join();
  }(pool, text, json));
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

TEST_CASE("blocking_pool: a dump names a pool that was destroyed while functions wait and run") {
  std::string json;
  leat::block_on([](std::string& j) -> task<> {
    auto pool = std::make_unique<blocking_pool>(
        leat::blocking_pool_options{.threads = 1, .name = "decode"});
    std::atomic<bool> entered{false};
    std::atomic<bool> open{false};
    task_group group("decoders");
    group.spawn(wait_in_pool(*pool, entered, open), "first");
    while (!entered) co_await leat::sleep_for(100us);
    group.spawn(wait_in_pool(*pool, entered, open), "second");
    while (pool->statistics().waiting == 0) co_await leat::sleep_for(100us);
    pool.reset();
    std::ostringstream out;
    leat::dump(out, leat::dump_format::json);
    j = out.str();
    open = true;
    co_await group.join();
  }(json));
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
