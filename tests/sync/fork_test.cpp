// Primitives in a child of fork(), which has copies of them and none of the other threads of its
// parent.

#include <atomic>
#include <future>
#include <thread>

#include "leat/base/internal/sanitizers.hpp"
#include "leat/sync.hpp"
#include "support/child_process.hpp"
#include "support/effort.hpp"
#include "support/leat_test.hpp"
#include "sync/lock_kinds.hpp"
#include "sync/wait_kinds.hpp"

namespace fork_test {

// A thread that runs a function and then exists until the end of the test.
class other_thread {
 public:
  template <class Function>
  explicit other_thread(Function f)
      : thread_([this, f = std::move(f)] {
          f();
          done_.set_value();
          end_.get_future().wait();
        }) {
    done_.get_future().wait();
  }
  ~other_thread() {
    end_.set_value();
    thread_.join();
  }

 private:
  std::promise<void> done_;
  std::promise<void> end_;
  std::thread thread_;
};

TEMPLATE_TEST_CASE("fork: a primitive that another thread used before works in the child", "[sync]",
                   LEAT_TEST_WAITS_OF_ALL_FORMS) {
  std::optional<TestType> kind;
  const other_thread user([&] { kind.emplace(); });
  const std::string said = leat_test::run_in_child([&] {
    const auto late = outcome_of([&] { block_in(*kind, 1ms); });
    if (late.code != errc::deadline_exceeded) return std::string("did not wait");
    kind->wake();
    return std::string(kind->remains() ? "ends" : "was not served");
  });
  CHECK(said == "ends");
  CHECK(outcome_of([&] { block_in(*kind, 0ms); }).code == errc::deadline_exceeded);
  kind->wake();
  CHECK(kind->remains());
}

TEMPLATE_TEST_CASE("fork: a lock that another thread holds stays held in the child", "[sync]",
                   LEAT_TEST_LOCKS) {
  TestType lock;
  typename TestType::guard held;
  const other_thread holder([&] { held = lock.try_lock(); });
  const std::string said = leat_test::run_in_child([&] {
    if (leat_test::is_free(lock)) return std::string("is free");
    const auto late = outcome_of([&] { static_cast<void>(leat::block_on(lock.lock(), 1ms)); });
    return std::string(late.code == errc::deadline_exceeded ? "is held" : "was locked");
  });
  CHECK(said == "is held");
}

TEMPLATE_TEST_CASE("fork: a guard of the thread that forks unlocks the copy of the child", "[sync]",
                   LEAT_TEST_LOCKS) {
  TestType lock;
  auto held = lock.try_lock();
  const std::string said = leat_test::run_in_child([&] {
    held = {};
    return std::string(leat_test::is_free(lock) ? "is free" : "is held");
  });
  CHECK(said == "is free");
  CHECK_FALSE(leat_test::is_free(lock));
}

TEST_CASE("fork: a wait of the parent is not affected by its child") {
  leat::event ready("ready");
  std::jthread waiting([&] { leat::block_on(ready.wait()); });
  while (ready.waiting_count() == 0) std::this_thread::yield();
  const std::string said = leat_test::run_in_child(
      [&] { return std::string(ready.waiting_count() == 1 ? "waits" : "does not wait"); });
  CHECK(said == "waits");
  CHECK(ready.waiting_count() == 1);
  ready.set();
}

TEST_CASE("fork: a child waits on a new primitive while threads of its parent do") {
  std::atomic<bool> over{false};
  std::jthread busy([&] {
    while (!over) {
      leat::event never;
      static_cast<void>(outcome_of([&] { leat::block_on(never.wait(), 0ms); }));
    }
  });
  for (std::uint64_t i = 0; i < leat_test::scaled_count(1000); ++i) {
    const std::string said = leat_test::run_in_child([] {
      leat::event never;
      const auto late = outcome_of([&] { leat::block_on(never.wait(), 1us); });
      return std::string(late.code == errc::deadline_exceeded ? "ends" : "did not wait");
    });
    REQUIRE(said == "ends");
  }
  over = true;
}

task<> count(leat::mutex& mutex, int& n) {
  for (int i = 0; i < 1000; ++i) {
    const auto lock = co_await mutex.lock();
    ++n;
  }
}
TEST_CASE("fork: a runtime of the child uses a mutex of its parent") {
  if (LEAT_TSAN) return;  // it ends a child that starts threads
  leat::mutex mutex("counter");
  std::optional<other_thread> user([&] { static_cast<void>(mutex.try_lock()); });
  const std::string said = leat_test::run_in_child([&] {
    leat::runtime runtime({.threads = 2});
    task_group group;
    int n = 0;
    for (std::size_t t = 0; t < 2; ++t) group.spawn_on(runtime.get_scheduler(t), count(mutex, n));
    leat::block_on(group.join());
    return std::to_string(n);
  });
  CHECK(said == "2000");
  CHECK_FALSE(mutex.is_locked());
}

}  // namespace fork_test
