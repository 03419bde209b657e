#include "leat/async/loop/stop_on_signal.hpp"

#include <csignal>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "leat/base/internal/sanitizers.hpp"
#include "support/child_process.hpp"
#include "support/descriptors.hpp"
#include "support/leat_test.hpp"

// The thread sanitizer delays signals, and treats the child of a fork() in a handler as a handler.
#if !LEAT_TSAN

namespace stop_on_signal_test {

using leat::stop_on_signal;
using leat_test::run_in_child;

task<> sleep_long() { co_await leat::sleep_for(1h); }

// Returns the current action of a signal.
struct sigaction action_of(int signal) {
  struct sigaction now{};
  ::sigaction(signal, nullptr, &now);
  return now;
}

void ignore_all(int) {}

// Runs the task that `body` returns in a child process. Returns the text of the task, or the signal
// that ended the child.
template <class Body>
std::string told_in_child(Body body) {
  return run_in_child([&] { return leat::block_on(body()); });
}

TEST_CASE("stop_on_signal: when a signal arrives, the tasks of the group are cancelled") {
  CHECK(told_in_child([]() -> task<std::string> {
          task_group group("sleepers");
          const stop_on_signal guard(group, {SIGINT, SIGTERM, SIGHUP});
          group.spawn(sleep_long());
          ::raise(SIGTERM);
          co_await group.join();
          co_return std::to_string(guard.signal());
        }) == std::to_string(SIGTERM));
}

TEST_CASE("stop_on_signal: when another thread receives the signal, the group is stopped") {
  CHECK(told_in_child([]() -> task<std::string> {
          task_group group("sleepers");
          const stop_on_signal guard(group);
          group.spawn(sleep_long());
          std::thread other([] {
            std::this_thread::sleep_for(5ms);
            ::raise(SIGINT);
          });
          co_await group.join();
          other.join();
          co_return std::to_string(guard.signal());
        }) == std::to_string(SIGINT));
}

TEST_CASE("stop_on_signal: the second signal, of any kind, has its default effect") {
  for (const int second : {SIGTERM, SIGINT}) {
    CAPTURE(second);
    CHECK(told_in_child([second]() -> task<std::string> {
            task_group group("sleepers");
            const stop_on_signal guard(group);
            ::raise(SIGTERM);
            ::raise(second);
            co_await group.join();
            co_return "survived";
          }) == "signal " + std::to_string(second));
  }
}

TEST_CASE("stop_on_signal: a signal that the program has not seen has its effect after the guard") {
  // Before the guard, the signal has its default effect or is handled by an outer guard.
  const auto run = [](bool has_outer) {
    return run_in_child([has_outer] {
      ::signal(SIGTERM, SIG_DFL);  // not the handler of Catch
      return leat::block_on([](bool has) -> task<std::string> {
        task_group outer("outer");
        outer.spawn(sleep_long());
        std::optional<stop_on_signal> outer_guard;
        {
          task_group job("job");
          const stop_on_signal guard(job);
          ::raise(SIGTERM);  // and no turn until the guard is destroyed
          if (has) outer_guard.emplace(outer);
        }
        if (!has) outer.request_stop();
        co_await outer.join();
        if (!has) co_return "survived";
        co_return "outer " + std::to_string(outer_guard->signal());
      }(has_outer));
    });
  };
  CHECK(run(false) == "signal " + std::to_string(SIGTERM));
  CHECK(run(true) == "outer " + std::to_string(SIGTERM));
}

TEST_CASE("stop_on_signal: a signal that the program has seen has no effect after the guard") {
  const auto run = [](bool asks) {
    return told_in_child([asks]() -> task<std::string> {
      task_group other("other");
      const stop_on_signal second(other, {SIGTERM});  // has received it too
      task_group job("job");
      const stop_on_signal guard(job);
      job.spawn(sleep_long());
      ::raise(SIGTERM);
      if (asks) {
        static_cast<void>(guard.signal());
        job.request_stop();
      }
      co_await job.join();
      co_return "survived";
    });
  };
  CHECK(run(true) == "survived");
  CHECK(run(false) == "survived");
}

TEST_CASE("stop_on_signal: a signal stops the scopes of two guards, and the next is default") {
  const auto run = [](bool second) {
    return told_in_child([second]() -> task<std::string> {
      task_group one("one");
      task_group two("two");
      const stop_on_signal first(one, {SIGTERM});
      const stop_on_signal other(two, {SIGTERM, SIGINT});
      one.spawn(sleep_long());
      two.spawn(sleep_long());
      ::raise(SIGTERM);
      if (second) ::raise(SIGTERM);
      co_await one.join();
      co_await two.join();
      co_return std::to_string(first.signal()) + ' ' + std::to_string(other.signal());
    });
  };
  CHECK(run(false) == std::to_string(SIGTERM) + ' ' + std::to_string(SIGTERM));
  CHECK(run(true) == "signal " + std::to_string(SIGTERM));
}

TEST_CASE("stop_on_signal: guards destroyed in any order restore the earlier handler") {
  CHECK(run_in_child([]() -> std::string {
          std::signal(SIGTERM, &ignore_all);
          std::signal(SIGINT, SIG_DFL);  // replaces Catch's handler
          return leat::block_on([]() -> task<std::string> {
            std::string wrong;
            task_group group("g");
            auto first = std::make_unique<stop_on_signal>(group);
            auto second = std::make_unique<stop_on_signal>(group);
            first.reset();
            if (action_of(SIGTERM).sa_handler == &ignore_all) wrong += ", too early";
            second.reset();
            if (action_of(SIGTERM).sa_handler != &ignore_all) wrong += ", not SIGTERM";
            if (action_of(SIGINT).sa_handler != SIG_DFL) wrong += ", not SIGINT";
            co_return "restored" + wrong;
          }());
        }) == "restored");
}

TEST_CASE("stop_on_signal: a handler that other code installed in the meantime stays") {
  CHECK(run_in_child([]() -> std::string {
          leat::block_on([]() -> task<> {
            task_group group("g");
            const stop_on_signal guard(group);
            std::signal(SIGTERM, &ignore_all);
            co_return;
          }());
          return action_of(SIGTERM).sa_handler == &ignore_all ? "stays" : "replaced";
        }) == "stays");
}

TEST_CASE("stop_on_signal: a signal that the parent process ignored stays ignored") {
  CHECK(run_in_child([]() -> std::string {
          std::signal(SIGHUP, SIG_IGN);  // as nohup does
          return leat::block_on([]() -> task<std::string> {
            task_group group("g");
            std::string told;
            {
              const stop_on_signal guard(group, {SIGHUP, SIGTERM});
              ::raise(SIGHUP);
              ::raise(SIGHUP);
              told = std::to_string(guard.signal());
            }
            if (action_of(SIGHUP).sa_handler != SIG_IGN) told += " no longer ignored";
            co_return told;
          }());
        }) == "0");
}

TEST_CASE("stop_on_signal: a child of fork() is terminated and its parent continues") {
  CHECK(told_in_child([]() -> task<std::string> {
          task_group group("g");
          const stop_on_signal guard(group);
          const pid_t child = ::fork();
          if (child == 0) {
            ::raise(SIGTERM);
            std::_Exit(1);
          }
          int status = 0;
          ::waitpid(child, &status, 0);
          co_await leat::sleep_for(1ms);
          co_return std::to_string(WIFSIGNALED(status) ? WTERMSIG(status) : 0) + ' ' +
              std::to_string(guard.signal()) + (group.stop_requested() ? " stopped" : "");
        }) == std::to_string(SIGTERM) + " 0");
}

TEST_CASE("stop_on_signal: a guard without a signal leaves no work, descriptor or handler") {
  for (int i = 0; i < 100; ++i) {
    leat::block_on([]() -> task<> {
      task_group group("g");
      const stop_on_signal guard(group, {SIGUSR2});
      co_return;
    }());
  }
  CHECK(action_of(SIGUSR2).sa_handler == SIG_DFL);
  leat::embedded_scheduler loop;
  const std::size_t before = leat_test::open_descriptors();
  task_group group("g");
  group.spawn_on(loop, [](task_group& own) -> task<> {
    const stop_on_signal guard(own, {SIGUSR2});
    co_return;
  }(group));
  leat_test::loop_until_idle(loop);
  leat::block_on(group.join());
  CHECK(leat_test::open_descriptors() == before);
}

TEST_CASE("stop_on_signal: in an embedded loop a signal makes the descriptor readable") {
  CHECK(run_in_child([]() -> std::string {
          leat::embedded_scheduler loop;
          task_group group("g");
          std::optional<stop_on_signal> guard;
          guard.emplace(loop, group, std::initializer_list<int>{SIGTERM});
          group.spawn_on(loop, sleep_long());
          while (leat_test::readable(loop)) loop.run_ready();
          ::raise(SIGTERM);
          if (!leat_test::readable(loop, 30'000)) return "not readable";
          loop.run_ready();
          const std::string told = group.stop_requested() ? "stopped" : "not stopped";
          while (!loop.idle()) loop.run_ready();
          leat::block_on(group.join());
          return told;
        }) == "stopped");
}

TEST_CASE("stop_on_signal: guards on the threads of a runtime are stopped together") {
  CHECK(run_in_child([]() -> std::string {
          leat::runtime threads({.threads = 2});
          task_group group("g");
          std::atomic<int> stopped = 0;
          std::atomic<int> ready = 0;
          for (std::size_t i = 0; i < 2; ++i) {
            group.spawn_on(threads.get_scheduler(i),
                           [](std::atomic<int>& there, std::atomic<int>& done) -> task<> {
                             task_group own("own");
                             const stop_on_signal guard(own);
                             own.spawn(sleep_long());
                             ++there;
                             co_await own.join();
                             ++done;
                           }(ready, stopped));
          }
          while (ready < 2) std::this_thread::yield();
          ::kill(::getpid(), SIGTERM);
          leat::block_on(group.join());
          return std::to_string(stopped);
        }) == "2");
}

TEST_CASE("stop_on_signal: rejects invalid signals and a missing scheduler") {
  task_group group("g");
  using list = std::initializer_list<int>;
  CHECK_THROWS_WITH(stop_on_signal(group), Catch::Contains("no scheduler on this thread"));
  leat::embedded_scheduler loop;
  CHECK_THROWS_WITH(stop_on_signal(loop, group, list{}),
                    Catch::Contains("no signals: pass at least one"));
  CHECK_THROWS_WITH(stop_on_signal(loop, group, list{0}),
                    Catch::Contains("signal 0 cannot request a stop: use"));
  CHECK_THROWS_WITH(stop_on_signal(loop, group, list{SIGSEGV}), Catch::Contains("SIGTERM"));
  CHECK_THROWS_WITH(stop_on_signal(loop, group, (list{SIGUSR2, SIGKILL})),
                    Catch::Contains("signal " + std::to_string(SIGKILL)));
  CHECK(action_of(SIGUSR2).sa_handler == SIG_DFL);
}

}  // namespace stop_on_signal_test

#endif
