#include "terminal/signals.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <system_error>
#include <thread>
#include <unistd.h>

#include <leat/async/task_group.hpp>
#include <leat/base/error.hpp>

#include "terminal/output.hpp"
#include "terminal/status.hpp"

namespace tool {
namespace {

// The signals that end the process, without those that were ignored at the start, as by nohup.
sigset_t ending_signals() noexcept {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now{};
    ::sigaction(number, nullptr, &now);
    if (now.sa_handler != SIG_IGN) ::sigaddset(&set, number);
  }
  return set;
}

// Blocks and receives the signals. Created before the threads whose work it stops.
class signal_watch {
 public:
  signal_watch() : set_(ending_signals()) {
    ::pthread_sigmask(SIG_BLOCK, &set_, &before_);
    signals_ = ::signalfd(-1, &set_, SFD_CLOEXEC);
    finished_ = ::eventfd(0, EFD_CLOEXEC);
    if (signals_ < 0 || finished_ < 0) {
      throw std::system_error(errno, std::generic_category(), "cannot watch for signals");
    }
  }
  signal_watch(const signal_watch&) = delete;
  signal_watch& operator=(const signal_watch&) = delete;
  ~signal_watch() {
    ::close(signals_);
    ::close(finished_);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

  // Waits for a signal, stops the group then, and returns after finish().
  void watch(leat::task_group& group) noexcept {
    pollfd ends[] = {{finished_, POLLIN, 0}, {signals_, POLLIN, 0}};
    while (::poll(ends, 2, -1) < 0) {
    }
    if (ends[0].revents != 0) return;
    signalfd_siginfo info{};
    if (::read(signals_, &info, sizeof info) != sizeof info) return;
    caught_ = static_cast<int>(info.ssi_signo);
    group.request_stop();
    // A second signal is delivered to this thread and ends the process.
    ::pthread_sigmask(SIG_UNBLOCK, &set_, nullptr);
    end_if_unread(ends);
  }

  void finish() noexcept {
    const std::uint64_t one = 1;
    while (::write(finished_, &one, sizeof one) < 0 && errno == EINTR) {
    }
  }

  // Returns the signal that was received, or 0.
  [[nodiscard]] int caught() const noexcept { return caught_; }

 private:
  // Waits for finish(). A stop does not interrupt a write to a pipe that is not read: if the same
  // write is in progress after half a second, the process ends immediately.
  void end_if_unread(pollfd* finished) const noexcept {
    for (std::uint64_t before = 0;;) {
      const int ready = ::poll(finished, 1, 500);
      if (ready > 0) return;
      if (ready < 0) continue;
      const std::uint64_t now = write_in_progress();
      if (now != 0 && now == before) end_by_signal(caught());
      before = now;
    }
  }

  sigset_t set_;
  sigset_t before_;
  int signals_ = -1;   // readable after a signal
  int finished_ = -1;  // readable after finish()
  std::atomic<int> caught_{0};
};

std::thread start_watcher(signal_watch& signals, leat::task_group& group) {
  try {
    return std::thread([&] { signals.watch(group); });
  } catch (const std::system_error& error) {
    throw leat::failure(error.code(),
                        "the thread that waits for signals cannot be started: raise the limit on "
                        "threads (ulimit -u, or pids.max of the cgroup), or use fewer jobs (-j)");
  }
}

// Spawns tasks in a group, and waits for them.
void run_group(unsigned threads,
               const std::function<void(leat::runtime& rt, leat::task_group& group)>& spawn) {
  signal_watch signals;
  leat::runtime runtime({.threads = threads});
  leat::task_group group("work");
  std::thread watcher = start_watcher(signals, group);
  std::exception_ptr error;
  try {
    spawn(runtime, group);
    leat::block_on(group.join());
  } catch (...) {
    error = std::current_exception();
  }
  signals.finish();
  watcher.join();
  if (signals.caught() != 0) throw ended_by_signal{signals.caught()};
  if (error) std::rethrow_exception(error);
}

}  // namespace

void run_until_signal(unsigned threads, const std::function<leat::task<>()>& make) {
  run_group(threads, [&](leat::runtime& rt, leat::task_group& group) {
    for (unsigned i = 0; i < threads; ++i) group.spawn_on(rt.get_scheduler(i), make());
  });
}

void run_one_until_signal(unsigned threads,
                          const std::function<leat::task<>(const leat::runtime&)>& make) {
  run_group(threads, [&](leat::runtime& rt, leat::task_group& group) {
    group.spawn_on(rt.get_scheduler(), make(rt));
  });
}

void end_by_signal(int number) {
  std::signal(number, SIG_DFL);
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, number);
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  ::raise(number);
  std::_Exit(128 + number);
}

}  // namespace tool
