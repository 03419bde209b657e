// Operations and tasks of leat in coroutines of other libraries, which run in handlers of Asio and
// on other threads.

#include "leat/async/detail/awaiter_in_foreign_coroutine.hpp"

#include <atomic>
#include <coroutine>
#include <stop_token>
#include <thread>

#include <asio/executor_work_guard.hpp>

#include "support/asio_test.hpp"
#include "support/descriptors.hpp"
#include "support/foreign_coroutine.hpp"

namespace foreign_coroutine_test {

using leat_test::foreign_coroutine;

/// What a coroutine has done: "ended", or its error; and the scheduler on which it was then.
struct report {
  std::string text;
  leat::scheduler* on = nullptr;

  void end(std::string what = "ended") {
    on = leat::scheduler::current();
    text = std::move(what);
  }
};

/// Calls `body` with a report, in a coroutine that keeps it. Stores an exception in the report.
foreign_coroutine start(auto body, report& r) {
  try {
    co_await body(r);
    r.end();
  } catch (const std::exception& e) {
    r.end(e.what());
  }
}

/// Calls `f`, which starts a coroutine, in a handler of `io`, and runs `io` until it has no work.
template <class F>
foreign_coroutine run_in_handler(asio::io_context& io, F f) {
  foreign_coroutine started;
  asio::post(io, [&] { started = f(); });
  io.run();
  return started;
}

/// Awaits what `body` returns, in a coroutine that a handler of `io` starts. Returns its report.
report report_of(asio::io_context& io, auto body) {
  report r;
  run_in_handler(io, [&] { return start(body, r); }).handle.destroy();
  return r;
}

// A wait that cannot start.
class failing_wait : public leat::wait_operation {
 public:
  explicit failing_wait(std::source_location where = std::source_location::current()) noexcept
      : wait_operation(failing_kind, where) {}

  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> h) {
    if (!bound()) attach(h);
    throw std::runtime_error("cannot start");
  }
  void await_resume() const noexcept {}

 private:
  static inline const kind failing_kind{"fail", [](wait_operation&) noexcept {},
                                        [](const wait_operation&, std::ostream&) {}};
};

task<int> add_later(int a, int b) {
  co_await leat::sleep_for(1ms);
  co_return a + b;
}

task<int> sleep_long() {
  co_await leat::sleep_for(1h);
  co_return 0;
}

task<int> fail_later() {
  co_await leat::sleep_for(1ms);
  throw std::runtime_error("no result");
}

// ---- In a handler of a context that has a scheduler.

TEST_CASE("foreign coroutine: an operation in a handler starts and resumes on the scheduler") {
  asio::io_context io;
  leat::scheduler& sched = leat::get_scheduler(io);
  const auto check = [&](auto body) {
    io.restart();
    const report r = report_of(io, body);
    CHECK(r.text == "ended");
    CHECK(r.on == &sched);
  };
  check([](report&) { return leat::sleep_for(1ms); });
  check([](report&) { return leat::sleep_for(0ms); });
  check([](report&) { return leat::this_task::yield(); });
  check([](report&) { return leat::select(leat::sleep_for(1ms), leat::sleep_for(1h)); });
  check([](report&) { return leat::as_tuple(leat::sleep_for(1ms)); });
  check([](report&) { return add_later(1, 2); });
  check([](report&) { return leat::as_tuple(add_later(1, 2)); });
  check([](report&) { return leat::select(add_later(1, 2), leat::sleep_for(1h)); });
  check([](report&) { return leat::with_timeout(add_later(1, 2), 1h); });
}

TEST_CASE("foreign coroutine: a value and an error of a task reach a handler's coroutine") {
  asio::io_context io;
  static_cast<void>(leat::get_scheduler(io));
  int sum = 0;
  std::string error;
  std::error_code code;
  const auto body = [](int& s, std::string& e, std::error_code& ec) -> foreign_coroutine {
    s = co_await add_later(1, 2);
    try {
      co_await fail_later();
    } catch (const std::runtime_error& caught) {
      e = caught.what();
    }
    const auto [failed, none] = co_await leat::as_tuple(fail_later());
    ec = failed;
    s += none;
  };
  run_in_handler(io, [&] { return body(sum, error, code); }).handle.destroy();
  CHECK(sum == 3);
  CHECK(error == "no result");
  CHECK(code == errc::unknown);
}

TEST_CASE("foreign coroutine: a limit ends an operation that a handler has started") {
  asio::io_context io;
  static_cast<void>(leat::get_scheduler(io));
  const auto body = [](report&) { return leat::with_timeout(leat::sleep_for(1h), 1ms); };
  CHECK(contains(report_of(io, body).text, "timed out without effect"));
}

TEST_CASE("foreign coroutine: an exception at a start that was posted reaches the co_await") {
  asio::io_context io;
  leat::scheduler& sched = leat::get_scheduler(io);
  const report r = report_of(io, [](report&) { return failing_wait(); });
  CHECK(r.text == "cannot start");
  CHECK(r.on == &sched);
}

TEST_CASE("foreign coroutine: run() does not return while a coroutine waits") {
  asio::io_context io;
  static_cast<void>(leat::get_scheduler(io));
  std::stop_source stop;
  const auto body = [&](report&) { return leat::wait_for_stop(stop.get_token()); };
  std::jthread later([&] {
    std::this_thread::sleep_for(5ms);
    stop.request_stop();
  });
  CHECK(report_of(io, body).text == "ended");
}

TEST_CASE("foreign coroutine: a coroutine that is destroyed no longer keeps run() from returning") {
  asio::io_context io;
  static_cast<void>(leat::get_scheduler(io));
  std::stop_source stop;
  report r;
  foreign_coroutine f;
  const auto body = [&](report&) { return leat::wait_for_stop(stop.get_token()); };
  asio::post(io, [&] {
    f = start(body, r);
    asio::post(io, [&] { asio::post(io, [&] { f.handle.destroy(); }); });
  });
  io.run();
  CHECK(r.text.empty());
}

TEST_CASE("foreign coroutine: two contexts on two threads each resume their own coroutines") {
  asio::io_context contexts[2];
  leat::scheduler* schedulers[2] = {&leat::get_scheduler(contexts[0]),
                                    &leat::get_scheduler(contexts[1])};
  std::atomic<int> right = 0;
  const auto body = [](leat::scheduler* own, std::atomic<int>& out) -> foreign_coroutine {
    co_await leat::sleep_for(0ms);
    if (leat::scheduler::current() == own) ++out;
    const int sum = co_await add_later(1, 1);
    if (leat::scheduler::current() == own && sum == 2) ++out;
  };
  std::vector<foreign_coroutine> started[2];
  {
    std::vector<std::jthread> threads;
    for (std::size_t c = 0; c < 2; ++c) {
      threads.emplace_back([&, c] {
        for (int i = 0; i < 50; ++i) {
          asio::post(contexts[c], [&, c] { started[c].push_back(body(schedulers[c], right)); });
        }
        contexts[c].run();
      });
    }
  }
  CHECK(right == 200);
  for (const auto& list : started) {
    for (const foreign_coroutine& f : list) f.handle.destroy();
  }
}

TEST_CASE("foreign coroutine: several threads that run a context start waits at the same time") {
  asio::io_context io;
  leat::scheduler& sched = leat::get_scheduler(io);
  int resumed = 0;  // changed on the scheduler only
  bool outside = false;
  const auto body = [](leat::scheduler& own, int& count, bool& wrong) -> foreign_coroutine {
    co_await leat::sleep_for(0ms);
    wrong = wrong || leat::scheduler::current() != &own;
    ++count;
  };
  constexpr std::size_t coroutines = 300;
  std::vector<foreign_coroutine> started(coroutines);
  for (std::size_t i = 0; i < coroutines; ++i) {
    asio::post(io, [&, i] { started[i] = body(sched, resumed, outside); });
  }
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i) threads.emplace_back([&] { io.run(); });
  }
  CHECK(resumed == coroutines);
  CHECK_FALSE(outside);
  for (const foreign_coroutine& f : started) f.handle.destroy();
}

TEST_CASE("foreign coroutine: an Asio operation with use_task starts in a handler") {
  asio::io_context io;
  leat::scheduler& sched = leat::get_scheduler(io);
  asio::steady_timer timer(io, 1ms);
  const report r = report_of(io, [&](report&) { return timer.async_wait(leat::use_task); });
  CHECK(r.text == "ended");
  CHECK(r.on == &sched);
}

// ---- Without a scheduler.

constexpr auto no_scheduler = "on a thread without a scheduler: co_await leat::resume_on(";

TEST_CASE("foreign coroutine: without a scheduler, co_await throws failed_precondition") {
  const auto check = [](auto body) {
    asio::io_context io;
    const report in_handler = report_of(io, body);
    CHECK(contains(in_handler.text, no_scheduler));
    CHECK(contains(in_handler.text, "call leat::get_scheduler(io)"));

    report on_thread;
    std::thread([&] { start(body, on_thread).handle.destroy(); }).join();
    CHECK(contains(on_thread.text, no_scheduler));

    report in_pool;
    asio::thread_pool pool(1);
    asio::post(pool, [&] { start(body, in_pool).handle.destroy(); });
    pool.join();
    CHECK(contains(in_pool.text, no_scheduler));
  };
  check([](report&) { return leat::sleep_for(1ms); });
  check([](report&) { return leat::this_task::yield(); });
  check([](report&) { return leat::select(leat::sleep_for(1ms), leat::sleep_for(1h)); });
  check([](report&) { return leat::with_timeout(leat::sleep_for(1ms), 1h); });
  check([](report&) { return add_later(1, 2); });
}

TEST_CASE("foreign coroutine: without a scheduler, as_tuple() returns failed_precondition") {
  std::error_code of_operation, of_task;
  const auto body = [](std::error_code& operation, std::error_code& child) -> foreign_coroutine {
    operation = (co_await leat::as_tuple(leat::sleep_for(1ms))).error;
    const auto [ec, none] = co_await leat::as_tuple(add_later(1, 2));
    child = ec;
    static_cast<void>(none);
  };
  body(of_operation, of_task).handle.destroy();
  CHECK(of_operation == errc::failed_precondition);
  CHECK(of_task == errc::failed_precondition);
}

TEST_CASE("foreign coroutine: an awaiter that is used directly throws failed_precondition too") {
  leat::sleep_wait nap = leat::sleep_for(1ms);
  CHECK_THROWS_WITH(nap.await_suspend(std::noop_coroutine()), Catch::Contains(no_scheduler));
}

// ---- resume_on().

TEST_CASE("resume_on: continues a coroutine of another thread on the scheduler") {
  asio::io_context io;
  leat::scheduler& sched = leat::get_scheduler(io);
  auto work = asio::make_work_guard(io);
  std::jthread loop([&] { io.run(); });
  std::atomic<int> sum = 0;
  const auto body = [](leat::scheduler& s, std::atomic<int>& out) -> foreign_coroutine {
    co_await leat::resume_on(s);
    co_await leat::resume_on(s);  // is there already
    co_await leat::sleep_for(1ms);
    const int result = co_await add_later(1, 2);
    out = leat::scheduler::current() == &s ? result : -1;
  };
  const foreign_coroutine f = body(sched, sum);
  work.reset();
  loop.join();
  CHECK(sum == 3);
  f.handle.destroy();
}

TEST_CASE("resume_on: works on an embedded scheduler") {
  leat::embedded_scheduler loop;
  bool ended = false;
  const auto body = [](leat::scheduler& s, bool& out) -> foreign_coroutine {
    co_await leat::resume_on(s);
    co_await leat::sleep_for(1ms);
    out = true;
  };
  const foreign_coroutine f = body(loop, ended);
  CHECK_FALSE(ended);
  leat_test::loop_until_idle(loop);
  CHECK(ended);
  f.handle.destroy();
}

// ---- A context that is destroyed first.

TEST_CASE("foreign coroutine: a context may be destroyed while a coroutine waits in it") {
  const auto check = [](auto body, int polls) {
    foreign_coroutine f;
    report r;
    std::optional<asio::io_context> io;
    io.emplace();
    static_cast<void>(leat::get_scheduler(*io));
    asio::post(*io, [&] { f = start(body, r); });
    for (int i = 0; i < polls; ++i) io->poll_one();
    io.reset();
    CHECK(r.text.empty());
    f.handle.destroy();
  };
  std::stop_source stop;
  for (const int polls : {1, 10}) {  // the start was posted, or the operation waits
    check([](report&) { return leat::sleep_for(1h); }, polls);
    check([](report&) { return leat::with_timeout(leat::sleep_for(1h), 1h); }, polls);
    check([&](report&) { return leat::wait_for_stop(stop.get_token()); }, polls);
    check([](report&) { return sleep_long(); }, polls);
    check([](report&) { return leat::select(sleep_long(), leat::sleep_for(1h)); }, polls);
  }
}

TEST_CASE("foreign coroutine: a context may be destroyed while an Asio operation is pending") {
  foreign_coroutine f;
  report r;
  {
    asio::io_context io;
    static_cast<void>(leat::get_scheduler(io));
    asio::steady_timer timer(io, 1h);
    const auto body = [&](report&) { return timer.async_wait(leat::use_task); };
    asio::post(io, [&] { f = start(body, r); });
    io.poll();
  }
  CHECK(r.text.empty());
  f.handle.destroy();
}

TEST_CASE("resume_on: a coroutine whose scheduler is destroyed first does not continue") {
  bool continued = false;
  foreign_coroutine f;
  {
    asio::io_context io;
    f = [](leat::scheduler& s, bool& out) -> foreign_coroutine {
      co_await leat::resume_on(s);
      out = true;
    }(leat::get_scheduler(io), continued);
  }
  CHECK_FALSE(continued);
  f.handle.destroy();
}

}  // namespace foreign_coroutine_test
