// Coroutines of other libraries that are destroyed after their wait has ended and before they
// resume. Their owner cannot know this moment.

#include "leat/async/detail/awaiter_in_foreign_coroutine.hpp"

#include <atomic>
#include <stop_token>
#include <thread>

#include <asio/io_context.hpp>
#include <asio/post.hpp>

#include "async/loop/asio_support.hpp"
#include "support/foreign_coroutine.hpp"
#include "support/leat_test.hpp"
#include "support/loops.hpp"

namespace foreign_coroutine_destroyed_test {

using leat_test::foreign_coroutine;

/// Awaits `body` on `s`. Sets `resumed` when it has continued.
foreign_coroutine start(leat::scheduler& s, auto body, bool& resumed) {
  co_await leat::resume_on(s);
  co_await body();
  resumed = true;
}

/// Lets the wait of `body` end by `end`, and destroys the coroutine at each point until it resumes:
/// after 0, 1, 2, ... further items of the scheduler.
void destroy_at_each_item(auto body, auto end) {
  for (std::size_t items = 0;; ++items) {
    leat::sim::virtual_scheduler s;
    bool resumed = false;
    const foreign_coroutine f = start(s, body, resumed);
    while (s.ready() > 0 && s.live_tasks() == 0) s.run_one(0);
    end(s);
    for (std::size_t i = 0; i < items && s.ready() > 0; ++i) s.run_one(0);
    const bool is_over = resumed;
    f.handle.destroy();
    while (s.ready() > 0) s.run_one(0);
    CHECK(resumed == is_over);
    if (is_over) break;
    REQUIRE(items < 100);
  }
}

const auto nothing = [](leat::sim::virtual_scheduler&) {};
const auto later = [](leat::sim::virtual_scheduler& s) {
  s.advance_to(s.now() + 1s);
  static_cast<void>(s.ready());
};

TEST_CASE("foreign coroutine: destroyed after its wait has ended and before it resumes") {
  SECTION("a sleep") {
    destroy_at_each_item([] { return leat::sleep_for(1ms); }, later);
  }
  SECTION("a yield") {
    destroy_at_each_item([] { return leat::this_task::yield(); }, nothing);
  }
  SECTION("a select") {
    destroy_at_each_item([] { return leat::select(leat::sleep_for(1ms), leat::sleep_for(1h)); },
                         later);
  }
  SECTION("a limit") {
    destroy_at_each_item(
        [] { return leat::as_tuple(leat::with_timeout(leat::sleep_for(1h), 1ms)); }, later);
  }
  SECTION("a stop") {
    std::stop_source source;
    destroy_at_each_item([&] { return leat::wait_for_stop(source.get_token()); },
                         [&](leat::sim::virtual_scheduler&) {
                           source.request_stop();
                           source = std::stop_source();
                         });
  }
}

TEST_CASE("foreign coroutine: destroyed after its task has ended and before it resumes") {
  leat_test::embedded_loop loop;
  bool ended = false;
  bool resumed = false;
  const foreign_coroutine f = start(
      loop.get_scheduler(),
      [&] {
        return [](bool& e) -> task<> {
          co_await leat::this_task::yield();
          e = true;
        }(ended);
      },
      resumed);
  task_group group;
  group.spawn_on(loop.get_scheduler(), [](bool& e, const foreign_coroutine& c) -> task<> {
    while (!e) co_await leat::this_task::yield();  // runs between the end and the wake-up
    c.handle.destroy();
  }(ended, f));
  loop.run_ready();
  leat::block_on(group.join());
  CHECK_FALSE(resumed);
}

TEST_CASE("foreign coroutine: its scheduler ends while a task that it has stopped still runs") {
  bool resumed = false;
  std::optional<foreign_coroutine> f;
  {
    asio::io_context io;
    const auto stubborn = []() -> task<> {
      task_group group(leat::shielded);
      group.spawn([]() -> task<> { co_await leat::sleep_for(1h); }());
      co_await group.join();
    };
    const auto limited = [&] { return leat::as_tuple(leat::with_timeout(stubborn(), 1ms)); };
    f = start(leat::get_scheduler(io), limited, resumed);
    io.run_for(20ms);
  }
  CHECK_FALSE(resumed);
  f->handle.destroy();
}

TEST_CASE("foreign coroutine: destroyed before a posted start") {
  asio::io_context io;
  static_cast<void>(leat::get_scheduler(io));
  bool resumed = false;
  const auto body = [](bool& r) -> foreign_coroutine {
    co_await leat::sleep_for(1ms);
    r = true;
  };
  asio::post(io, [&] {
    const foreign_coroutine f = body(resumed);  // outside a turn of the scheduler
    f.handle.destroy();
  });
  io.run();
  CHECK_FALSE(resumed);
}

TEST_CASE("foreign coroutine: destroyed after an Asio operation has ended and before it resumes") {
  leat_test::embedded_loop loop;
  leat_test::handler_store store;
  bool resumed = false;
  const foreign_coroutine f = start(loop.get_scheduler(), [&] { return store.wait(); }, resumed);
  loop.run_ready();
  task_group group;
  group.spawn_on(loop.get_scheduler(),
                 [](leat_test::handler_store& s, const foreign_coroutine& c) -> task<> {
                   s.handler->call();  // posts the wake-up
                   c.handle.destroy();
                   co_return;
                 }(store, f));
  loop.run_ready();
  leat::block_on(group.join());
  CHECK_FALSE(resumed);
}

TEST_CASE("foreign coroutine: destroyed when a function of run_blocking has returned") {
  leat_test::embedded_loop loop;
  std::atomic<bool> open{false};
  std::atomic<bool> left{false};
  bool resumed = false;
  const auto wait = [&] {
    while (!open) std::this_thread::yield();
    left = true;
  };
  const foreign_coroutine f =
      start(loop.get_scheduler(), [&] { return leat::run_blocking(wait); }, resumed);
  loop.run_ready();
  open = true;
  while (!left) std::this_thread::yield();
  std::this_thread::sleep_for(5ms);  // posts its call
  f.handle.destroy();
  loop.run_ready();
  CHECK_FALSE(resumed);
}

TEST_CASE("foreign coroutine: destroyed while another thread ends its wait", "[async][race]") {
  leat_test::embedded_loop loop;
  std::atomic<int> round{0};  // that the stopper may stop
  std::atomic<int> ended{0};  // the last round in which it has
  std::stop_source source;
  constexpr int rounds = 2000;
  std::jthread stopper([&] {
    for (int i = 1; i <= rounds; ++i) {
      while (round < i) std::this_thread::yield();
      source.request_stop();
      ended = i;
    }
  });
  int count = 0;
  for (int i = 1; i <= rounds; ++i) {
    source = std::stop_source();
    bool resumed = false;
    const foreign_coroutine f = start(
        loop.get_scheduler(), [&] { return leat::wait_for_stop(source.get_token()); }, resumed);
    loop.run_ready();
    round = i;
    for (int spin = 0; spin < i % 200; ++spin) std::atomic_signal_fence(std::memory_order_seq_cst);
    if (i % 2 == 0) loop.run_one_turn();
    f.handle.destroy();
    loop.run_ready();
    while (ended < i) std::this_thread::yield();
    count += resumed;
  }
  CHECK(count <= rounds);
}

}  // namespace foreign_coroutine_destroyed_test
