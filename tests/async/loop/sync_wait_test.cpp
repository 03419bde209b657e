#include "leat/async/loop/sync_wait.hpp"

#include <chrono>
#include <memory>
#include <stdexcept>

#include <asio/execution/context.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/query.hpp>

#include "leat/async/as_tuple.hpp"
#include "leat/async/loop/scheduler_executor.hpp"
#include "leat/async/sleep.hpp"
#include "leat/async/this_task.hpp"
#include "support/leat_test.hpp"

namespace sync_wait_test {

using namespace std::chrono_literals;
using leat::sync_wait;
using leat::task;

task<int> give(int n) { co_return n; }

TEST_CASE("sync_wait: returns the result", "[async]") { CHECK(sync_wait(give(3)) == 3); }

TEST_CASE("sync_wait: a result may be a reference or move-only", "[async]") {
  int n = 1;
  const auto reference = [](int& r) -> task<int&> { co_return r; };
  CHECK(&sync_wait(reference(n)) == &n);
  const auto pointer = []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(5); };
  CHECK(*sync_wait(pointer()) == 5);
}

TEST_CASE("sync_wait: throws the error", "[async]") {
  const auto fail = []() -> task<void> {
    throw std::runtime_error("failed");
    co_return;
  };
  CHECK_THROWS_WITH(sync_wait(fail()), "failed");
}

TEST_CASE("sync_wait: throws the exception of a handler when the task has ended", "[async]") {
  bool ended = false;
  const auto run = [](bool& over) -> task<> {
    const auto executor = leat::get_executor(leat::this_task::get_scheduler());
    auto& io = static_cast<asio::io_context&>(asio::query(executor, asio::execution::context));
    for (const char* text : {"first", "second"}) {
      asio::post(io.get_executor(), [text] { throw std::runtime_error(text); });
    }
    const auto [stopped] = co_await leat::as_tuple(leat::sleep_for(1h));
    over = stopped == leat::errc::cancelled;
  };
  CHECK_THROWS_WITH(sync_wait(run(ended)), "first");
  CHECK(ended);
}

TEST_CASE("sync_wait: waits for a task that waits", "[async]") {
  const auto nap = []() -> task<int> {
    co_await leat::sleep_for(1ms);
    co_await leat::this_task::yield();
    co_return 4;
  };
  CHECK(sync_wait(nap()) == 4);
}

TEST_CASE("sync_wait: can be called several times on one thread", "[async]") {
  int sum = 0;
  for (int i = 0; i < 10; ++i) sum += sync_wait(give(i));
  CHECK(sum == 45);
}

TEST_CASE("sync_wait: a call on a scheduler thread ends the process with a message", "[async]") {
  const auto said = leat_test::abort_message([] {
    const auto outer = []() -> task<int> { co_return sync_wait(give(1)); };
    sync_wait(outer());
  });
  CHECK(said.find("co_await the task") != said.npos);
}

}  // namespace sync_wait_test
