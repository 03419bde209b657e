#include "leat/async/loop/block_on.hpp"

#include <asio/execution/context.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/query.hpp>

#include "support/leat_test.hpp"

namespace block_on_test {

using leat::block_on;

task<int> give(int n) { co_return n; }

TEST_CASE("block_on: returns the result") { CHECK(block_on(give(3)) == 3); }

TEST_CASE("block_on: a result may be a reference or move-only") {
  int n = 1;
  const auto reference = [](int& r) -> task<int&> { co_return r; };
  CHECK(&block_on(reference(n)) == &n);
  const auto pointer = []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(5); };
  CHECK(*block_on(pointer()) == 5);
}

TEST_CASE("block_on: throws the error") {
  const auto fail = []() -> task<void> {
    throw std::runtime_error("failed");
    co_return;
  };
  CHECK_THROWS_WITH(block_on(fail()), "failed");
}

TEST_CASE("block_on: throws the exception of a handler when the task has ended") {
  bool ended = false;
  const auto run = [](bool& over) -> task<> {
    const auto executor = leat::get_executor(leat::this_task::get_scheduler());
    auto& io = static_cast<asio::io_context&>(asio::query(executor, asio::execution::context));
    for (const char* text : {"first", "second"}) {
      asio::post(io.get_executor(), [text] { throw std::runtime_error(text); });
    }
    const auto [stopped] = co_await leat::as_tuple(leat::sleep_for(1h));
    over = stopped == errc::cancelled;
  };
  CHECK_THROWS_WITH(block_on(run(ended)), "first");
  CHECK(ended);
}

TEST_CASE("block_on: waits for a task that waits") {
  const auto nap = []() -> task<int> {
    co_await leat::sleep_for(1ms);
    co_await leat::this_task::yield();
    co_return 4;
  };
  CHECK(block_on(nap()) == 4);
}

TEST_CASE("block_on: can be called several times on one thread") {
  int sum = 0;
  for (int i = 0; i < 10; ++i) sum += block_on(give(i));
  CHECK(sum == 45);
}

TEST_CASE("block_on: a call on a scheduler thread ends the process with a message") {
  const auto said = leat_test::abort_message([] {
    const auto outer = []() -> task<int> { co_return block_on(give(1)); };
    block_on(outer());
  });
  CHECK(contains(said, "co_await the task"));
}

}  // namespace block_on_test
