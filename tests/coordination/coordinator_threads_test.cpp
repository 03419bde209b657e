#include "leat/coordination/coordinator.hpp"

#include <pthread.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "leat/base/internal/sanitizers.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "support/leat_test.hpp"

// The threads of a coordinator, on real time. coordinator_test.cpp covers its tasks.

namespace coordinator_threads_test {

// Returns a function for a thread that waits until it is stopped, and then adds 1 to `ended`.
auto until_stopped(std::atomic<int>& ended) {
  return [&ended](const std::stop_token& stop) {
    while (!stop.stop_requested()) std::this_thread::yield();
    ++ended;
  };
}
// Returns a function for a thread that ignores stops and ends when `go` is true.
auto until(const std::atomic<bool>& go) {
  return [&go](const std::stop_token&) {
    while (!go) std::this_thread::yield();
  };
}

TEST_CASE("coordinator: joins threads and throws their errors") {
  leat::coordinator c;
  std::atomic<int> stopped{0};
  c.start_thread("waiter", until_stopped(stopped));
  c.start_thread("failing",
                 [](const std::stop_token&) { throw std::runtime_error("from a thread"); });
  CHECK_THROWS_WITH(leat::block_on(c.join()), "from a thread");
  CHECK(stopped == 1);
}

TEST_CASE("coordinator: the function of a thread may have no stop token") {
  leat::coordinator c;
  leat::fifo_queue<int> q(1);
  std::atomic<bool> stopped{false};
  c.start_thread("waiter", [&] {
    stopped = code_of([&] { return leat::block_on(q.pop()); }) == errc::cancelled;
  });
  c.request_stop();
  leat::block_on(c.join());
  CHECK(stopped);
}

TEST_CASE("coordinator: stragglers_error names a thread") {
  std::atomic<bool> go{false};
  leat::coordinator c;
  c.start_thread("slow worker", until(go));
  c.request_stop();
  CHECK_THROWS_WITH(leat::block_on(c.join({.grace = 10ms})), Catch::Contains("slow worker"));
  go = true;
  leat::block_on(c.join());
}

TEST_CASE("coordinator: block_on(wait_for_stop()) ends with the stop or at its limit") {
  leat::coordinator c;
  CHECK_FALSE(leat::block_on(c.wait_for_stop(1ms)));
  c.start_thread("stopper", [&c](const std::stop_token&) { c.request_stop(); });
  CHECK(leat::block_on(c.wait_for_stop()));
  leat::block_on(c.join());
}

TEST_CASE("coordinator: wait_join() waits for the normal end without a stop") {
  leat::coordinator c;
  std::atomic<bool> ended{false};
  c.start_thread("short", [&](const std::stop_token&) { ended = true; });
  leat::block_on(c.join());
  CHECK(ended);
  CHECK_FALSE(c.should_stop());
  CHECK(c.joined());
}

TEST_CASE("coordinator: stragglers_error names only threads that are still running") {
  std::atomic<bool> go{false};
  std::atomic<bool> quick_ended{false};
  leat::coordinator c;
  c.start_thread("quick one", [&](const std::stop_token&) { quick_ended = true; });
  while (!quick_ended) std::this_thread::yield();
  c.start_thread("slow one", until(go));
  c.start_thread("slow two", until(go));
  c.request_stop();
  std::string what;
  try {
    leat::block_on(c.join({.grace = 100ms}));
  } catch (const leat::stragglers_error& e) {
    what = e.what();
    CHECK(e.code() == errc::deadline_exceeded);
  }
  CHECK(contains(what, "slow one"));
  CHECK(contains(what, "slow two"));
  CHECK_FALSE(contains(what, "quick one"));
  go = true;
  leat::block_on(c.join());
}

TEST_CASE("coordinator: an error of a thread after join() is secondary") {
  std::atomic<bool> go{false};
  leat::coordinator c;
  c.start_thread("late", [&](const std::stop_token&) {
    while (!go) std::this_thread::yield();
    throw std::runtime_error("late");
  });
  c.request_stop();
  leat::block_on(c.join({.grace = 1ms, .stragglers = leat::straggler_policy::report}));
  CHECK(c.secondary_errors().empty());
  go = true;
  leat::block_on(c.join());
  CHECK(c.secondary_errors().size() == 1);
}

TEST_CASE("coordinator: a thread that is registered after the stop is stopped at once") {
  leat::coordinator c;
  c.request_stop();
  std::atomic<int> ended{0};
  c.register_thread(std::jthread(until_stopped(ended)), "newcomer");
  leat::block_on(c.join({.grace = 60s}));
  CHECK(ended == 1);
}

TEST_CASE("coordinator: a registered thread is stopped with the others") {
  leat::coordinator c;
  std::atomic<int> ended{0};
  std::jthread worker(until_stopped(ended));
  const std::stop_token seen = worker.get_stop_token();
  c.register_thread(std::move(worker), "worker");
  CHECK_FALSE(seen.stop_requested());
  c.request_stop();
  CHECK(seen.stop_requested());
  leat::block_on(c.join());
  CHECK(ended == 1);
}

TEST_CASE("coordinator: an empty std::jthread can be registered") {
  leat::coordinator c;
  c.register_thread(std::jthread(), "none");
  leat::block_on(c.join());
  CHECK(c.secondary_errors().empty());
}

TEST_CASE("coordinator: rejects a thread without a function") {
  leat::coordinator c;
  CHECK_THROWS_WITH(c.start_thread("idle", {}), Catch::StartsWith("thread 'idle' has no function"));
  c.request_stop();
  leat::block_on(c.join());
}

TEST_CASE("coordinator: the stop of its threads works again after clear_stop") {
  leat::coordinator c;
  std::atomic<int> ended{0};
  for (int round = 1; round <= 2; ++round) {
    c.register_thread(std::jthread(until_stopped(ended)), "foreign");
    CHECK(ended == round - 1);
    c.request_stop();
    leat::block_on(c.join({.grace = 60s}));
    CHECK(ended == round);
    c.clear_stop();
  }
}

TEST_CASE("coordinator: join() in one of its own threads throws failed_precondition") {
  leat::coordinator c("ring");
  const bool stopped = GENERATE(false, true);
  std::string said;
  c.start_thread("self", [&](const std::stop_token&) {
    if (stopped) c.request_stop();
    said = refusal([&] { leat::block_on(c.join()); }, errc::failed_precondition);
  });
  leat::block_on(c.join());
  CHECK(said.starts_with("coordinator 'ring': join()"));
}

TEST_CASE("coordinator: its destructor stops and joins the remaining threads") {
  std::atomic<int> ended{0};
  {
    leat::coordinator c;
    c.start_thread("left", until_stopped(ended));
  }
  CHECK(ended == 1);
}

TEST_CASE("coordinator: accepts any limit and grace period in any unit") {
  leat::coordinator c;
  std::atomic<int> stopped{0};
  c.start_thread("waits", [&](const std::stop_token&) {
    if (leat::block_on(c.wait_for_stop(std::chrono::seconds::max()))) ++stopped;
  });
  leat::sim::run([](leat::coordinator& all, std::atomic<int>& seen) -> task<> {
    leat::coordinator own;
    own.spawn([](leat::coordinator& o, std::atomic<int>& n) -> task<> {
      if (co_await o.wait_for_stop(std::chrono::years(10'000))) ++n;
      co_await leat::sleep_for(1h);
    }(own, seen));
    own.spawn([](leat::coordinator& o) -> task<> {
      task_group last(leat::shielded, "last");
      last.spawn([]() -> task<> { co_await leat::sleep_for(1h); }());
      co_await leat::sleep_for(1min);
      o.request_stop();
      co_await last.join();
    }(own));
    co_await own.join({.grace = std::chrono::hours::max()});
    all.request_stop();
  }(c, stopped));
  leat::block_on(c.join({.grace = std::chrono::hours::max()}));
  CHECK(stopped == 2);
}

TEST_CASE("coordinator: `cancelled` from a remaining thread is ignored after clear_stop()") {
  leat::coordinator c;
  leat::fifo_queue<int> q(1);
  std::atomic<bool> cleared{false};
  std::atomic<bool> cancelled{false};
  c.start_thread("left behind", [&](const std::stop_token&) {
    while (!cleared) std::this_thread::yield();
    try {
      leat::block_on(q.pop());
    } catch (const leat::failure& e) {
      cancelled = e.code() == errc::cancelled;
      throw;
    }
  });
  c.request_stop();
  leat::block_on(c.join({.grace = 0s, .stragglers = leat::straggler_policy::report}));
  c.clear_stop();
  cleared = true;
  leat::block_on(c.join());
  CHECK(cancelled);
  CHECK_FALSE(c.should_stop());
  CHECK(c.secondary_errors().empty());
}

TEST_CASE("coordinator: another error of a remaining thread stops again after clear_stop()") {
  leat::coordinator c;
  std::atomic<bool> cleared{false};
  c.start_thread("left behind", [&](const std::stop_token&) {
    while (!cleared) std::this_thread::yield();
    throw std::runtime_error("late");
  });
  c.request_stop();
  leat::block_on(c.join({.grace = 0s, .stragglers = leat::straggler_policy::report}));
  c.clear_stop();
  cleared = true;
  CHECK_THROWS_WITH(leat::block_on(c.join()), "late");
  CHECK(c.should_stop());
}

TEST_CASE("coordinator: the stop callback of a thread registered after a stop may call it") {
  leat::coordinator coord;
  coord.request_stop();
  std::atomic<bool> ready{false};
  std::atomic<int> called{0};
  std::jthread thread([&](const std::stop_token& stop) {
    const std::stop_callback callback(stop, [&] {
      coord.request_stop();
      static_cast<void>(coord.secondary_errors());
      ++called;
    });
    ready = true;
    while (!stop.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  while (!ready) std::this_thread::yield();
  coord.register_thread(std::move(thread), "mine");
  leat::block_on(coord.join());
  CHECK(called == 1);
}

TEST_CASE("coordinator: a stop reaches threads that stop callbacks register") {
  leat::coordinator coord;
  std::atomic<int> ended{0};
  std::jthread first(until_stopped(ended));
  const std::stop_callback callback(first.get_stop_token(), [&] {
    coord.register_thread(std::jthread(until_stopped(ended)), "second");
  });
  coord.register_thread(std::move(first), "first");
  coord.request_stop();
  leat::block_on(coord.join());
  CHECK(ended == 2);
}

TEST_CASE("coordinator: the error for a thread that cannot be started names it and a remedy") {
  if (LEAT_ASAN || LEAT_TSAN) return;  // sanitizers need more address space
  const std::string said = leat_test::abort_message([] {
    leat::coordinator coord("svc");
    pthread_attr_t large;  // larger than the stacks that the C library keeps
    ::pthread_attr_init(&large);
    ::pthread_attr_setstacksize(&large, std::size_t{256} << 20);
    ::pthread_setattr_default_np(&large);
    const rlimit no_more{1 << 20, 1 << 20};
    ::setrlimit(RLIMIT_AS, &no_more);
    try {
      coord.start_thread("exporter", [](const std::stop_token&) {});
    } catch (const std::system_error& e) {
      std::fprintf(stderr, "%s\n", e.what());
      std::abort();
    }
  });
  INFO(said);
  CHECK(said.starts_with("coordinator 'svc': thread 'exporter' cannot be started: raise"));
}

TEST_CASE("coordinator: wait_join() with stop_after stops tasks that do not end") {
  leat::coordinator coord;
  std::atomic<int> ended{0};
  coord.start_thread("poller", until_stopped(ended));
  leat::block_on(coord.join({.stop_after = std::chrono::milliseconds(5)}));
  CHECK(coord.should_stop());
  CHECK(ended == 1);
}

}  // namespace coordinator_threads_test
