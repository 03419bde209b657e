#include "async/loop/signal_set_counts.hpp"

#include <atomic>
#include <csignal>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <asio/io_context.hpp>
#include <asio/signal_set.hpp>

#include "leat/base/internal/sanitizers.hpp"
#include "support/child_process.hpp"
#include "support/descriptors.hpp"
#include "support/leat_test.hpp"

// The thread sanitizer delays signals, and treats the child of a fork() in a handler as a handler.
#if !LEAT_TSAN

namespace signal_set_counts_test {

using leat::stop_on_signal;
using leat_test::run_in_child;

// Sleeps until it is stopped, or for a time after which the test fails.
task<> sleep_long() { co_await leat::sleep_for(10s); }

// Returns the current handler of a signal.
auto handler_of(int signal) {
  struct sigaction now{};
  ::sigaction(signal, nullptr, &now);
  return now.sa_handler;
}

void ignore_all(int) {}

// A signal_set on a context of its own.
class other_set {
 public:
  explicit other_set(int signal) : set_(io_, signal) { wait(); }

  // Returns how often the set has received its signal.
  int received() {
    io_.restart();
    io_.poll();
    return received_;
  }
  void clear() { set_.clear(); }
  [[nodiscard]] asio::io_context& context() noexcept { return io_; }

 private:
  void wait() {
    set_.async_wait([this](std::error_code ec, int) {
      if (ec) return;
      ++received_;
      wait();
    });
  }

  asio::io_context io_;
  asio::signal_set set_;
  int received_ = 0;
};

// Waits until a guard has received a signal, and returns the signal.
task<int> signal_of_guard(std::optional<other_set>& set, bool add_set, bool destroy_set) {
  task_group group("sleepers");
  const stop_on_signal guard(group, {SIGTERM});
  group.spawn(sleep_long());
  if (add_set) set.emplace(SIGTERM);
  if (destroy_set) set.reset();
  ::raise(SIGTERM);
  co_await group.join();
  co_return guard.signal();
}

TEST_CASE("stop_on_signal: a signal reaches a signal_set that was created before the guard") {
  CHECK(run_in_child([] {
          std::optional<other_set> set(std::in_place, SIGTERM);
          const int told = leat::block_on(signal_of_guard(set, false, false));
          return std::to_string(told) + ' ' + std::to_string(set->received());
        }) == std::to_string(SIGTERM) + " 1");
}

TEST_CASE("stop_on_signal: a signal_set that is added later receives the signal too") {
  CHECK(run_in_child([]() -> std::string {
          std::signal(SIGTERM, &ignore_all);
          for (int i = 0; i < 100; ++i) {
            std::optional<other_set> set;
            if (leat::block_on(signal_of_guard(set, true, false)) != SIGTERM) return "no stop";
            if (set->received() != 1) return "not received";
            ::raise(SIGTERM);  // after the guard
            if (set->received() != 2) return "not received after the guard";
            set.reset();
            if (handler_of(SIGTERM) != SIG_DFL) return "handled after the set";
            std::signal(SIGTERM, &ignore_all);
          }
          return "both";
        }) == "both");
}

TEST_CASE("stop_on_signal: the end of a signal_set takes no signal from the guard") {
  const auto run = [](bool added_first) {
    return run_in_child([added_first]() -> std::string {
      for (int i = 0; i < 100; ++i) {
        std::signal(SIGTERM, &ignore_all);
        std::optional<other_set> set;
        if (added_first) set.emplace(SIGTERM);
        if (leat::block_on(signal_of_guard(set, !added_first, true)) != SIGTERM) return "no stop";
        // Asio restores the default action after its last set.
        const auto expected = added_first ? SIG_DFL : &ignore_all;
        if (handler_of(SIGTERM) != expected) return "not restored";
      }
      return "stopped";
    });
  };
  CHECK(run(true) == "stopped");
  CHECK(run(false) == "stopped");
}

TEST_CASE("stop_on_signal: the second signal has its default effect after the signal_set") {
  const auto run = [](bool clears) {
    return run_in_child([clears] {
      return leat::block_on([](bool without_set) -> task<std::string> {
        task_group group("g");
        const stop_on_signal guard(group, {SIGTERM});
        other_set set(SIGTERM);
        ::raise(SIGTERM);
        if (without_set) set.clear();
        ::raise(SIGTERM);
        co_return std::to_string(set.received());
      }(clears));
    });
  };
  CHECK(run(false) == "2");
  CHECK(run(true) == "signal " + std::to_string(SIGTERM));
}

TEST_CASE("stop_on_signal: a signal that a signal_set has received is not raised again") {
  CHECK(run_in_child([] {
          other_set set(SIGTERM);
          leat::block_on([]() -> task<> {
            task_group group("g");
            const stop_on_signal guard(group, {SIGTERM});
            ::raise(SIGTERM);  // and no turn until the guard is destroyed
            co_return;
          }());
          return std::to_string(set.received());
        }) == "1");
}

TEST_CASE("stop_on_signal: in a child of fork(), only the signal_set receives the signal") {
  CHECK(run_in_child([] {
          return leat::block_on([]() -> task<std::string> {
            task_group group("g");
            const stop_on_signal guard(group, {SIGTERM});
            other_set set(SIGTERM);
            set.context().notify_fork(asio::io_context::fork_prepare);
            const pid_t child = ::fork();
            if (child == 0) {
              set.context().notify_fork(asio::io_context::fork_child);
              ::raise(SIGTERM);
              std::_Exit(10 * set.received() + guard.signal());
            }
            set.context().notify_fork(asio::io_context::fork_parent);
            int status = 0;
            ::waitpid(child, &status, 0);
            co_await leat::sleep_for(1ms);
            co_return std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : -1) + ' ' +
                std::to_string(guard.signal()) + ' ' + std::to_string(set.received());
          }());
        }) == "10 0 0");
}

TEST_CASE("stop_on_signal: signals that arrive during the end of a guard or set end no process") {
  CHECK(run_in_child([]() -> std::string {
          std::signal(SIGTERM, &ignore_all);
          leat::embedded_scheduler loop;
          other_set set(SIGTERM);
          std::atomic<bool> over{false};
          std::thread sender([&over] {
            while (!over) ::raise(SIGTERM);
          });
          for (int i = 0; i < 1000; ++i) {
            task_group group("g");
            {
              const stop_on_signal guard(loop, group, {SIGTERM});
              const other_set added(SIGTERM);
            }
            leat_test::loop_until_idle(loop);
          }
          over = true;
          sender.join();
          return set.received() > 0 ? "survived" : "not received";
        }) == "survived");
}

}  // namespace signal_set_counts_test

#endif
