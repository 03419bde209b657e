// Tasks that await Asio operations when their scheduler is destroyed.

#include "leat/async/loop/use_task.hpp"

#include <array>
#include <stop_token>
#include <thread>

#include <asio.hpp>

#include "async/loop/asio_support.hpp"
#include "support/leat_test.hpp"
#include "support/loops.hpp"

namespace use_task_end_test {

using leat::use_task;
using leat_test::context_on_thread;
using leat_test::failure_of;
using leat_test::handler_store;
using leat_test::operation;
using local_socket = asio::local::stream_protocol::socket;

struct witness {
  explicit witness(int& n) noexcept : count(n) {}
  witness(const witness&) = delete;
  witness& operator=(const witness&) = delete;
  ~witness() { ++count; }
  int& count;
};

/// A task that waits in one of several ways, with everything that it uses in its frame.
struct waiting {
  int destroyed = 0;
  task_group group;
  leat_test::asio_loop loop;

  void spawn(task<> t) { group.spawn_on(loop.get_scheduler(), std::move(t)); }
  void end() {
    CHECK(destroyed == 0);
    loop.end();
    CHECK(destroyed == 1);
    CHECK(group.live_tasks() == 0);
    CHECK(leat_test::is_cancelled(group));
  }
};

// Destroys the loop of a task that waits.
void check_end(task<> (*body)(waiting&)) {
  waiting w;
  w.spawn(body(w));
  w.loop.run_ready();
  w.end();
}

task<> wait_for_timer(waiting& w) {
  const witness gone(w.destroyed);
  asio::steady_timer t(w.loop.context(), 1h);
  co_await t.async_wait(use_task);
}
task<> wait_for_timer_of(waiting& w, context_on_thread& other) {
  const witness gone(w.destroyed);
  asio::steady_timer t(other.io, 1h);
  co_await t.async_wait(use_task);
}

TEST_CASE("scheduler end: an Asio operation that was not started") {
  check_end([](waiting& self) -> task<> {
    const witness gone(self.destroyed);
    asio::steady_timer t(self.loop.context(), 1h);
    auto unstarted = t.async_wait(use_task);
    co_await leat::sleep_for(1h);
    co_await unstarted;
  });
}

TEST_CASE("scheduler end: a task that waits for a timer of Asio") { check_end(&wait_for_timer); }

TEST_CASE("scheduler end: a task that waits for a socket, which is older than the scheduler") {
  waiting w;
  leat_test::socket_pair before(w.loop.context());
  w.spawn([](waiting& self, leat_test::socket_pair pair) -> task<> {
    const witness gone(self.destroyed);
    std::array<char, 8> buffer{};
    co_await pair.a.async_read_some(asio::buffer(buffer), use_task);
  }(w, std::move(before)));
  w.loop.run_ready();
  w.end();
}

TEST_CASE("scheduler end: a sleep and an Asio operation in a newer group") {
  waiting w;
  w.spawn([]() -> task<> { co_await leat::sleep_for(1h); }());
  task_group newer;
  newer.spawn_on(w.loop.get_scheduler(), wait_for_timer(w));
  w.loop.run_ready();
  w.end();
  CHECK(leat_test::is_cancelled(newer));
}

TEST_CASE("scheduler end: more scopes than one pass finds, and a task that a destructor spawns") {
  struct spawner {
    task_group& group;
    leat::scheduler& sched;
    int& destroyed;
    ~spawner() {
      group.spawn_on(sched, [](int& n) -> task<> {
        const witness gone(n);
        co_await leat::sleep_for(1h);
      }(destroyed));
    }
  };
  check_end([](waiting& self) -> task<> {
    const witness gone(self.destroyed);
    int later = 0;
    task_group old("old");
    std::vector<task<>> all;
    for (int i = 0; i < 1500; ++i) {
      all.push_back([](task_group& g, int& n) -> task<> {
        auto& sched = leat::this_task::get_scheduler();
        const spawner last{g, sched, n};
        co_await leat::with_timeout([]() -> task<> { co_await leat::sleep_for(1h); }(), 2h);
      }(old, later));
    }
    co_await leat::when_all(std::move(all));
  });
}

TEST_CASE("scheduler end: a task that waits for a composed operation") {
  check_end([](waiting& self) -> task<> {
    const witness gone(self.destroyed);
    leat_test::socket_pair s(self.loop.context());
    std::array<char, 8> buffer{};
    co_await asio::async_write(s.b, asio::buffer("abc", 3), use_task);
    co_await asio::async_read(s.a, asio::buffer(buffer), use_task);
  });
}

TEST_CASE("scheduler end: a task that waits for an accept and one that waits for a resolver") {
  waiting w;
  w.spawn([](waiting& self) -> task<> {
    asio::ip::tcp::acceptor a(self.loop.context(), {asio::ip::make_address("127.0.0.1"), 0});
    co_await a.async_accept(use_task);
  }(w));
  w.spawn([](waiting& self) -> task<> {
    const witness gone(self.destroyed);
    asio::ip::tcp::resolver r(self.loop.context());
    co_await r.async_resolve("127.0.0.1", "1", use_task);
    co_await leat::sleep_for(1h);
  }(w));
  w.loop.run_one_turn();
  w.end();
}

TEST_CASE("scheduler end: an Asio operation in a select, alone and after another one has won") {
  for (const bool has_winner : {false, true}) {
    waiting w;
    w.spawn([](waiting& self, bool wins) -> task<> {
      const witness gone(self.destroyed);
      asio::steady_timer t(self.loop.context(), 1h);
      co_await leat::select(leat_test::wait_stubbornly(t), leat::sleep_for(wins ? 1us : 1h));
    }(w, has_winner));
    w.loop.run_ready();
    std::this_thread::sleep_for(1ms);
    w.loop.run_ready();
    w.end();
  }
}

TEST_CASE("scheduler end: an Asio operation under a limit") {
  check_end([](waiting& self) -> task<> {
    const witness gone(self.destroyed);
    asio::steady_timer t(self.loop.context(), 1h);
    co_await leat::with_timeout(t.async_wait(use_task), 1h);
  });
}

TEST_CASE("scheduler end: an Asio operation that was cancelled and has not ended") {
  waiting w;
  w.spawn(wait_for_timer(w));
  w.loop.run_ready();
  w.group.request_stop();
  w.loop.run_one_turn();  // the handler of the cancelled timer is posted
  CHECK(w.destroyed == 0);
  w.loop.end();
  CHECK(w.destroyed == 1);
  CHECK(w.group.live_tasks() == 0);
}

TEST_CASE("scheduler end: the frames that contain a pending operation end from the inside out") {
  check_end([](waiting& self) -> task<> {
    const witness gone(self.destroyed);
    std::array<char, 8> buffer{};
    leat_test::socket_pair s(self.loop.context());
    task_group inner;
    inner.spawn([](local_socket& a, std::array<char, 8>& b) -> task<> {
      co_await a.async_read_some(asio::buffer(b), use_task);
    }(s.a, buffer));
    inner.spawn([]() -> task<> { co_await leat::sleep_for(1h); }());
    co_await inner.join();
  });
}

task<> wait_in(waiting& w, handler_store& store) {
  const witness gone(w.destroyed);
  co_await store.wait();
}

TEST_CASE("scheduler end: an Asio operation that has lost to a stop is left to its context") {
  // Its I/O object may be destroyed before the context.
  waiting w;
  bool cancelled = false;
  std::optional<asio::steady_timer> timer(std::in_place, w.loop.context(), 1h);
  std::stop_source source;
  w.spawn([](waiting& self, asio::steady_timer& t, bool& c, std::stop_token stop) -> task<> {
    const witness gone(self.destroyed);
    const auto start = [&](auto h) {
      asio::get_associated_cancellation_slot(h).assign(
          [&](asio::cancellation_type_t) { c = true; });
      t.async_wait([h = std::move(h)](std::error_code ec) mutable { h(ec); });
    };
    co_await leat::with_stop(operation<void(std::error_code)>(start, use_task), std::move(stop));
  }(w, *timer, cancelled, source.get_token()));
  w.loop.run_ready();
  source.request_stop();
  timer.reset();
  w.end();
  CHECK_FALSE(cancelled);
}

TEST_CASE("scheduler end: cancels an operation of another context that has lost to a stop") {
  context_on_thread other;
  waiting w;
  std::stop_source source;
  w.spawn([](waiting& self, asio::io_context& far, std::stop_token stop) -> task<> {
    const witness gone(self.destroyed);
    asio::steady_timer t(far, 1h);
    co_await leat::with_stop(t.async_wait(use_task), std::move(stop));
  }(w, other.io, source.get_token()));
  w.loop.run_ready();
  source.request_stop();
  w.end();
}

TEST_CASE("scheduler end: an operation that is complete and whose task has not resumed") {
  handler_store store;
  waiting w;
  w.spawn(wait_in(w, store));
  w.loop.run_ready();
  store.handler->call();
  w.end();
}

TEST_CASE("scheduler end: an operation whose handler was destroyed before") {
  handler_store store;
  waiting w;
  w.spawn(wait_in(w, store));
  w.loop.run_ready();
  store.handler.reset();
  w.end();
}

TEST_CASE("scheduler end: waits for an operation of another context after cancelling it") {
  context_on_thread other;
  waiting w;
  w.spawn(wait_for_timer_of(w, other));
  w.loop.run_ready();
  w.end();
}

// A service with objects whose destructors use it, as sockets use theirs.
class counting_service : public asio::execution_context::service {
 public:
  using key_type = counting_service;
  static inline asio::execution_context::id id;
  static inline int alive = 0;

  explicit counting_service(asio::execution_context& c) : asio::execution_context::service(c) {
    ++alive;
  }
  ~counting_service() override { --alive; }

 private:
  void shutdown() noexcept override {}
};

TEST_CASE("scheduler end: a task ends before a newer service of an object in its frame") {
  struct object {
    int& services;
    ~object() { services = counting_service::alive; }
  };
  context_on_thread other;
  waiting w;
  int services = 0;
  w.spawn([](waiting& self, asio::io_context& far, int& alive) -> task<> {
    const witness gone(self.destroyed);
    asio::use_service<counting_service>(self.loop.context());  // created after the scheduler
    const object last{alive};
    asio::steady_timer t(far, 1h);
    co_await t.async_wait(use_task);
  }(w, other.io, services));
  w.loop.run_ready();
  w.end();
  CHECK(services == 1);
  CHECK(counting_service::alive == 0);
}

// The end of the first task cancels the operation of the second one, whose handler the context then
// destroys after all that it had to destroy before.
TEST_CASE("scheduler end: a pinned task ends if the end of another one cancels its operation") {
  context_on_thread other;
  waiting w;
  task_group newer;
  std::optional<asio::steady_timer> shared(std::in_place, w.loop.context(), 1h);
  w.spawn(wait_for_timer_of(w, other));
  newer.spawn_on(w.loop.get_scheduler(),
                 [](auto& timer) -> task<> { co_await timer->async_wait(use_task); }(shared));
  newer.spawn_on(w.loop.get_scheduler(), [](auto& timer, asio::io_context& own) -> task<> {
    struct canceller {
      std::optional<asio::steady_timer>& timer;
      ~canceller() { timer.reset(); }
    };
    const canceller at_end{timer};
    asio::steady_timer t(own, 1h);
    co_await t.async_wait(use_task);
  }(shared, w.loop.context()));
  w.loop.run_ready();
  w.end();
  CHECK(leat_test::is_cancelled(newer));
}

TEST_CASE("embedded_scheduler: its end waits for an operation of an io_context") {
  context_on_thread other;
  for (const bool in_select : {false, true}) {
    task_group group;
    leat_test::embedded_loop loop;
    group.spawn_on(loop.get_scheduler(), [](asio::io_context& far, bool selects) -> task<> {
      asio::steady_timer t(far, 1h);
      if (selects) {
        co_await leat::select(leat::sleep_for(1h), t.async_wait(use_task));
      } else {
        co_await t.async_wait(use_task);
      }
    }(other.io, in_select));
    loop.run_ready();
    loop.end();
    CHECK(leat_test::is_cancelled(group));
  }
}

TEST_CASE("use_task: the destruction of another context ends its operations as cancelled") {
  asio::io_context io;
  std::optional<asio::io_context> other(std::in_place);
  std::error_code code;
  task_group group;
  std::optional<asio::steady_timer> t(std::in_place, *other, 1h);
  group.spawn_on(leat::get_scheduler(io),
                 [](asio::steady_timer& timer, std::error_code& out) -> task<> {
                   const auto error = co_await failure_of(timer.async_wait(use_task));
                   out = error.code;
                 }(*t, code));
  io.poll();
  t.reset();
  other.reset();
  io.restart();
  io.run();
  CHECK(code == errc::cancelled);
  leat::block_on(group.join());
}

}  // namespace use_task_end_test
