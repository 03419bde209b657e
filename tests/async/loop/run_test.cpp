#include "leat/async/loop/run.hpp"

#include <atomic>
#include <coroutine>
#include <csignal>
#include <exception>
#include <functional>
#include <initializer_list>
#include <new>
#include <thread>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asio/execution/context.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/query.hpp>

#include "leat/base/internal/sanitizers.hpp"
#include "support/child_process.hpp"
#include "support/leat_test.hpp"

namespace run_test {

task<int> give(int n) { co_return n; }

task<> sleep_long() { co_await leat::sleep_for(1h); }

task<> raise_and_sleep(int signal) {
  ::raise(signal);
  co_await leat::sleep_for(1h);
}

/// An awaitable of another library, which leat cannot cancel: a thread resumes the coroutine.
struct blocking_wait {
  std::chrono::milliseconds time;
  std::jthread thread;

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> h) {
    thread = std::jthread([h, for_time = time] {
      std::this_thread::sleep_for(for_time);
      h.resume();
    });
  }
  void await_resume() const noexcept {}
};

task<> ignore_stop() {
  blocking_wait wait{50ms, {}};
  co_await wait;
}

task<> fail_with(std::exception_ptr error) {
  std::rethrow_exception(error);
  co_return;
}

task<> fail_with(auto error) { return fail_with(std::make_exception_ptr(std::move(error))); }

/// Runs `f` in a child process. Returns its exit code, or the signal that ended it, and then the
/// text that it wrote to standard error: "code 0: ", "signal 15: ...".
std::string outcome(const std::function<int()>& f) {
  const std::initializer_list<int> signals = {SIGABRT, SIGSEGV, SIGALRM, SIGINT, SIGTERM};
  const leat_test::child_end end = leat_test::fork_and_read(signals, [&](int pipe) {
    ::alarm(3600);
    ::dup2(pipe, STDERR_FILENO);
    return f();
  });
  const int signal = end.signal();
  const std::string kind = signal != 0 ? "signal " + std::to_string(signal)
                                       : "code " + std::to_string(WEXITSTATUS(end.status));
  return kind + ": " + end.output;
}

std::string outcome_of_run(auto body) {
  return outcome([&] { return leat::run(body); });
}

// ---- Exit codes.

TEST_CASE("run: a task that returns ends with 0, or with the int that it returned") {
  CHECK(leat::run([]() -> task<> { co_return; }()) == 0);
  CHECK(leat::run(give(0)) == 0);
  CHECK(leat::run(give(75)) == 75);
}

TEST_CASE("run: a callable is called in the loop and kept until the end") {
  const auto alive = std::make_shared<int>(3);
  const std::weak_ptr<int> watch = alive;
  CHECK(leat::run([alive, &watch]() -> task<int> {
          co_await leat::sleep_for(1ms);
          co_return watch.expired() ? -1 : *alive;
        }) == 3);
  leat::scheduler* seen = nullptr;
  const auto plain = [&seen] {
    seen = leat::scheduler::current();
    return give(4);
  };
  CHECK(leat::run(plain) == 4);
  CHECK(seen != nullptr);
}

TEST_CASE("run: a task may wait, and several calls may follow each other") {
  int sum = 0;
  for (int i = 0; i < 5; ++i) {
    sum += leat::run([&]() -> task<int> {
      co_await leat::sleep_for(1ms);
      co_await leat::this_task::yield();
      co_return i;
    });
  }
  CHECK(sum == 10);
}

TEST_CASE("run: an exception is printed and ends with 1") {
  CHECK(outcome([] { return leat::run(fail_with(std::runtime_error("no such host"))); }) ==
        "code 1: error: no such host\n");
  CHECK(outcome([] { return leat::run(fail_with(std::bad_alloc())); }) ==
        "code 1: error: out of memory\n");
  CHECK(outcome([] { return leat::run(fail_with(5)); }) ==
        "code 1: error: exception of type int\n");
  CHECK(outcome([] {
          return leat::run([]() -> task<int> { throw std::runtime_error("not started"); });
        }) == "code 1: error: not started\n");
}

TEST_CASE("run: the messages of nested exceptions follow the message of the outer one") {
  CHECK(outcome_of_run([]() -> task<> {
          try {
            try {
              throw std::runtime_error("line 3: no value");
            } catch (...) {
              std::throw_with_nested(std::runtime_error("a.toml"));
            }
          } catch (...) {
            std::throw_with_nested(std::runtime_error("cannot configure"));
          }
          co_return;
        }) == "code 1: error: cannot configure: a.toml: line 3: no value\n");
  struct empty : std::runtime_error, std::nested_exception {
    using std::runtime_error::runtime_error;
  };
  CHECK(outcome([] { return leat::run(fail_with(empty("alone"))); }) == "code 1: error: alone\n");
}

TEST_CASE("run: `cancelled` without a signal is an error") {
  const std::string end =
      outcome([] { return leat::run(fail_with(leat::failure(errc::cancelled, "request 7"))); });
  CHECK(end.starts_with("code 1: error: request 7: "));
}

// ---- Bad input.

TEST_CASE("run: invalid options are printed and end with 1") {
  bool started = false;
  const auto body = [&started]() -> task<> {
    started = true;
    co_return;
  };
  CHECK(outcome([&] {
          return leat::run(body, {.signals = {SIGSEGV}}) + started;
        }).starts_with("code 1: error: stop_on_signal: signal 11 cannot request a stop"));
  CHECK(outcome([&] {
          return leat::run(body, {.signals = {0}}) + started;
        }).starts_with("code 1: error: stop_on_signal: signal 0 cannot request a stop"));
  CHECK(outcome([&] {
          return leat::run(body, {.stop_grace = -1s}) + started;
        }).starts_with("code 1: error: run_options::stop_grace is negative: set 0 or more"));
}

#if !LEAT_ASAN  // UBSan, used together with it, needs descriptors to check an exception
TEST_CASE("run: a lack of descriptors is printed and ends with 1") {
  const std::string end = outcome([] {
    rlimit none{0, 0};
    ::setrlimit(RLIMIT_NOFILE, &none);
    return leat::run(give(0));
  });
  CHECK_THAT(end, Catch::StartsWith("code 1: ") && Catch::Contains("Too many open files"));
}
#endif

TEST_CASE("run: an empty task ends the process with a message") {
  const auto said = leat_test::abort_message([] { static_cast<void>(leat::run(task<>())); });
  CHECK(contains(said, "run() on an empty task"));
}

TEST_CASE("run: a call on a scheduler thread ends the process with a message") {
  const auto said = leat_test::abort_message(
      [] { static_cast<void>(leat::run([]() -> task<int> { co_return leat::run(give(1)); })); });
  CHECK(contains(said, "run() on a scheduler thread would deadlock: co_await the task"));
}

// ---- Work that the main task leaves behind.

TEST_CASE("run: a group that outlives the main task is stopped and joined") {
  std::unique_ptr<task_group> group;
  bool stopped = false;
  CHECK(leat::run([&]() -> task<> {
          group = std::make_unique<task_group>("left");
          group->spawn([](bool& out) -> task<> {
            const auto [ec] = co_await leat::as_tuple(leat::sleep_for(1h));
            out = ec == errc::cancelled;
          }(stopped));
          co_return;
        }) == 0);
  CHECK(stopped);
  CHECK(group->live_tasks() == 0);
}

TEST_CASE("run: work that stays after the end is printed once, and run() waits for it") {
  const std::string end = outcome([] {
    std::unique_ptr<task_group> group;
    return leat::run(
        [&]() -> task<> {
          group = std::make_unique<task_group>("left");
          group->spawn(ignore_stop(), "stubborn");
          co_return;
        },
        {.stop_grace = 1ms});
  });
  CHECK(end.starts_with(
      "code 0: leat: run: tasks or Asio operations still running 0.001 s after the end of the"));
  CHECK(contains(end, "stubborn: await a foreign operation"));
  CHECK(end.find("still running", 60) == end.npos);
}

#if !LEAT_TSAN  // which delays signals

// ---- Signals.

TEST_CASE("run: a task that a signal has cancelled ends with 128 + n") {
  CHECK(outcome([] { return leat::run(raise_and_sleep(SIGTERM)); }) ==
        "code 143: stopped by SIGTERM\n");
  CHECK(outcome([] { return leat::run(raise_and_sleep(SIGINT)); }) ==
        "code 130: stopped by SIGINT\n");
  CHECK(outcome([] { return leat::run(raise_and_sleep(SIGUSR1), {.signals = {SIGUSR1}}); }) ==
        "code 138: stopped by SIGUSR1\n");
}

TEST_CASE("run: a task that returns after a signal ends with its own code") {
  CHECK(outcome_of_run([]() -> task<int> {
          ::raise(SIGTERM);
          const auto [ec] = co_await leat::as_tuple(leat::sleep_for(1h));
          co_return ec == errc::cancelled ? 75 : 1;
        }) == "code 75: ");
  CHECK(outcome_of_run([]() -> task<> {
          ::raise(SIGTERM);
          co_await leat::as_tuple(leat::sleep_for(1h));
        }) == "code 0: ");
}

TEST_CASE("run: an error after a signal is printed and ends with 1") {
  CHECK(outcome_of_run([]() -> task<> {
          ::raise(SIGTERM);
          co_await leat::as_tuple(leat::sleep_for(1h));
          throw std::runtime_error("cannot save");
        }) == "code 1: error: cannot save\n");
}

TEST_CASE("run: a signal stops the groups of the main task") {
  CHECK(outcome_of_run([]() -> task<int> {
          task_group group("sleepers");
          for (int i = 0; i < 3; ++i) group.spawn(sleep_long());
          ::raise(SIGTERM);
          const auto [ec] = co_await leat::as_tuple(group.join());
          co_return ec == errc::cancelled ? 7 : 1;
        }) == "code 7: ");
}

TEST_CASE("run: a main task that a signal stops in join() has not completed") {
  CHECK(outcome_of_run([]() -> task<> {
          task_group group("sleepers");
          group.spawn(sleep_long());
          ::raise(SIGTERM);
          co_await group.join();
        }) == "code " + std::to_string(128 + SIGTERM) + ": stopped by SIGTERM\n");
}

// A handler of the program throws an exception.
task<> fail_in_handler() {
  const auto executor = leat::get_executor(leat::this_task::get_scheduler());
  auto& io = static_cast<asio::io_context&>(asio::query(executor, asio::execution::context));
  asio::post(io.get_executor(), [] { throw std::runtime_error("from a handler"); });
  co_await sleep_long();
}

TEST_CASE("run: an exception of a handler stops the task and is its error") {
  CHECK(outcome([] { return leat::run(fail_in_handler()); }) == "code 1: error: from a handler\n");
  // While the task ends.
  CHECK(outcome_of_run([]() -> task<> {
          task_group patient(leat::shielded, "patient");
          patient.spawn(
              []() -> task<> { co_await as_tuple(leat::with_timeout(fail_in_handler(), 1ms)); }());
          ::raise(SIGTERM);
          co_await patient.join();
        }) == "code 1: error: from a handler\n");
}

TEST_CASE("run: the second signal has its default effect") {
  CHECK(outcome_of_run([]() -> task<> {
          ::raise(SIGTERM);
          ::raise(SIGTERM);
          co_return;
        }) == "signal " + std::to_string(SIGTERM) + ": ");
}

TEST_CASE("run: without signals, a signal has its default effect") {
  CHECK(outcome([] { return leat::run(raise_and_sleep(SIGTERM), {.signals = {}}); }) ==
        "signal " + std::to_string(SIGTERM) + ": ");
}

TEST_CASE("run: the earlier handlers are restored at the end") {
  CHECK(outcome([] {
          static std::atomic<int> received = 0;
          std::signal(SIGTERM, [](int s) { received = s; });
          if (leat::run(give(0)) != 0) return 1;
          ::raise(SIGTERM);
          return received == SIGTERM ? 0 : 2;
        }) == "code 0: ");
}

TEST_CASE("run: a guard in the task receives the signal too") {
  CHECK(outcome_of_run([]() -> task<int> {
          task_group group("sleepers");
          const leat::stop_on_signal guard(group);
          group.spawn(sleep_long());
          ::raise(SIGINT);
          static_cast<void>(co_await leat::as_tuple(group.join()));
          co_return guard.signal();
        }) == "code " + std::to_string(SIGINT) + ": ");
}

TEST_CASE("run: a task that does not stop is printed once, with the place of its wait") {
  const std::string end = outcome([] {
    return leat::run(
        []() -> task<int> {
          ::raise(SIGTERM);
          task_group patient("patient");
          patient.spawn(ignore_stop(), "stubborn");
          co_await patient.join();
          co_return 3;
        },
        {.stop_grace = 1ms});
  });
  CHECK(
      end.starts_with("code 3: leat: run: tasks still running 0.001 s after the stop request:\n"));
  CHECK(contains(end, "join"));
  CHECK(contains(end, "stubborn: await a foreign operation"));
  CHECK(end.find("still running", 40) == end.npos);
}

#endif

}  // namespace run_test
