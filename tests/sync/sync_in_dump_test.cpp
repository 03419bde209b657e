// The primitives in the list of a dump, and every form of operation that waits for them.

#include <atomic>
#include <regex>
#include <thread>

#include <asio/bind_executor.hpp>
#include <asio/io_context.hpp>

#include "leat/sync.hpp"
#include "support/dump.hpp"
#include "support/foreign_coroutine.hpp"
#include "support/leat_test.hpp"

namespace sync_in_dump_test {
using leat_test::dump;

constexpr auto ignore = [](const std::error_code&, const auto&...) {};

TEST_CASE("dump: does not list a primitive on which no operation has waited") {
  leat::mutex idle("idle");
  const auto lock = idle.try_lock();
  CHECK_FALSE(contains(dump(), "idle"));
}

LEAT_TEST("dump: a wait that has ended shows its outcome, without its object") {
  std::optional<leat::event> ready(std::in_place, "ready");
  leat::mutex index("index");
  auto lock = index.try_lock();
  task_group group;
  group.spawn([](leat::event& e) -> task<> { co_await e.wait(); }(*ready));
  group.spawn([](leat::event& e) -> task<> {
    co_await leat::select(e.wait(), leat::sleep_for(1h));
  }(*ready));
  group.spawn([](leat::mutex& m) -> task<> { const auto locked = co_await m.lock(); }(index));
  co_await leat::sleep_for(1ms);
  ready->set();
  ready.reset();
  lock.unlock();
  const std::string text = dump();  // in the same turn: no task has resumed
  CAPTURE(text);
  CHECK(contains(text, ": wait for event, completed, at "));
  CHECK(contains(text, ": select wait for event (completed), or a timer"));
  CHECK(contains(text, ": lock mutex, completed, at "));
  co_await group.join();
}

TEST_CASE("dump: lists each kind of primitive with its state and its operations") {
  asio::io_context context;
  leat::semaphore connections(3, "connections");
  leat::semaphore backlog(0, SIZE_MAX, "backlog");  // practically without a maximum
  leat::mutex index("index");
  leat::shared_mutex table("table");
  leat::event ready("ready");
  leat::watch<int> limit(1, "limit");
  leat::oneshot<int> reply("reply");
  leat::broadcast<int> room(2, leat::lag_policy::wait, "room");
  auto permits = connections.try_acquire(2);
  auto locked = index.try_lock();
  auto reading = table.try_lock_shared();
  auto ann = room.subscribe("ann");
  limit.set(2);
  connections.async_acquire(2, asio::bind_executor(context, ignore));
  backlog.async_acquire(2, asio::bind_executor(context, ignore));
  index.async_lock(asio::bind_executor(context, ignore));
  table.async_lock(asio::bind_executor(context, ignore));
  table.async_lock_shared(asio::bind_executor(context, ignore));
  ready.async_wait(asio::bind_executor(context, ignore));
  limit.async_changed(1, asio::bind_executor(context, ignore));
  reply.rx.async_receive(asio::bind_executor(context, ignore));
  ann.async_next(asio::bind_executor(context, ignore));
  const std::string text = dump();
  const std::string json = dump(leat::dump_format::json);
  INFO(text);
  INFO(json);
  CHECK(contains(json, R"j("primitives":[{"type":"semaphore","name":"connections",)j"));
  CHECK(contains(json, R"j({"verb":"acquire","waiter":"handler",)j"));
  const auto listed = [&](const std::string& object, const std::string& operations) {
    return std::regex_search(
        text, std::regex("(^|\n)" + object + ", \\d operations? waits?\n" + operations));
  };
  const std::string at = ", at sync_in_dump_test\\.cpp:\\d+ in [^\n]*";
  CHECK(listed("semaphore 'connections' \\(1 of 3 free\\)",
               "  acquire of an Asio handler" + at + ", 2 permits\n"));
  CHECK(listed("semaphore 'backlog' \\(0 free\\)",
               "  acquire of an Asio handler" + at + ", 2 permits\n"));
  CHECK(listed("mutex 'index', held for 0\\.\\d+ s at " + at.substr(5),
               "  lock of an Asio handler" + at + "\n"));
  CHECK(
      listed("shared_mutex 'table' \\(1 shared\\)",
             "  lock of an Asio handler" + at + "\n  lock_shared of an Asio handler" + at + "\n"));
  CHECK(listed("event 'ready'", "  wait of an Asio handler" + at));
  CHECK(listed("watch 'limit' \\(version 1\\)", "  wait of an Asio handler" + at));
  CHECK(listed("oneshot 'reply'", "  receive of an Asio handler" + at));
  CHECK(listed("broadcast 'room' \\(0 of 2, 1 receiver\\)", "  receive of an Asio handler" + at));
  permits.release();
  backlog.release(2);
  locked.unlock();
  reading.unlock();
  ready.set();
  limit.set(3);
  CHECK(reply.tx.send(1));
  room.close();
  context.run();
  CHECK(ready.is_set());
}

// Threads make and destroy primitives with waiting operations while another thread dumps.
TEST_CASE("dump: works while primitives are created and destroyed") {
  std::atomic<bool> enough{false};
  const auto use = [&enough] {
    asio::io_context context;
    const auto token = [&context] { return asio::bind_executor(context, ignore); };
    while (!enough) {
      leat::mutex index("index");
      leat::shared_mutex table("table");
      leat::semaphore permits(1, "permits");
      leat::event ready("ready");
      leat::watch<int> limit(1, "limit");
      leat::oneshot<int> reply("reply");
      leat::broadcast<int> room(1, leat::lag_policy::wait, "room");
      auto receiver = room.subscribe("ann");
      {
        const auto locked = index.try_lock();
        const auto reading = table.try_lock_shared();
        const auto permit = permits.try_acquire();
        index.async_lock(token());
        table.async_lock(token());
        permits.async_acquire(1, token());
        ready.async_wait(token());
        limit.async_changed(0, token());
        reply.rx.async_receive(token());
        receiver.async_next(token());
      }
      ready.set();
      limit.set(2);
      static_cast<void>(reply.tx.send(1));
      static_cast<void>(room.try_send(1));
      context.run();
      context.restart();
    }
  };
  std::thread one(use), two(use);
  bool seen = false;
  for (int i = 0; i < 300 || !seen; ++i) seen = contains(dump(), "\nsemaphore 'permits' (") || seen;
  enough = true;
  one.join();
  two.join();
  CHECK(seen);
}

}  // namespace sync_in_dump_test
