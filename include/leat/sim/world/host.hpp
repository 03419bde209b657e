#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "leat/async/loop/run.hpp"
#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/task.hpp"
#include "leat/base/clock.hpp"
#include "leat/sim/decision_source.hpp"
#include "leat/sim/file_system/file_system.hpp"
#include "leat/sim/simulated_process.hpp"

namespace LEAT::sim {

class host_clock;
class host_process;
class network_host;
class simulated_call_part;
class simulated_thread;
class world;

/// Options of a host.
struct host_options {
  std::size_t threads = 1;         ///< simulated threads, each with a scheduler
  file_system_options files = {};  ///< size and faults of its file system
};

/// A machine in a simulated world: a name, an address, threads, a file system, clocks, and at most
/// one process.
///
///     auto& db = w.add_host("db", {.threads = 2});
///     db.start([](leat::sim::host&) { return serve("*:5432"); });
///     co_await use_database("db:5432");
///     db.raise(SIGTERM);
///     const int status = co_await db.join();
///
/// A world has a host "local", whose parts are also members of the world, and those that
/// world::add_host() has created. Hosts share nothing but the network. The body of a world runs on
/// "local", without a process there.
///
/// How a process ends:
///
/// - Its main task ends: the others are stopped and joined, as in leat::run().
/// - A signal stops its main task, or terminates it if no guard handles the signal.
/// - terminate(): its tasks are destroyed. The kernel sends what was written and closes the
///   connections: peers see the end, or a reset if bytes were unread. Files keep what was written,
///   also what was not synced, and locks are released. An operation in flight happens or not.
/// - stop_power(): the same, but nothing is sent any more. Peers see silence, and a reset after the
///   next start(). The files are as after file_system::crash().
///
/// A destroyed task runs the destructors of its frames, which must not change what other hosts
/// share with it. Static variables keep their values, so a program under test must keep its state
/// in its main task.
///
/// terminate(), stop_power(), pause() and signals without a guard take effect at the end of the
/// current step of the world, so a task may call them for its own host.
///
/// Thread safety: thread-bound to the thread that runs the world.
class host {
 public:
  host(const host&) = delete;
  host& operator=(const host&) = delete;
  ~host();

  /// Returns its name, which is also a name on the network.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Returns its address on the network, such as "10.0.0.2".
  [[nodiscard]] std::string address() const;
  /// Returns the number of its simulated threads.
  [[nodiscard]] std::size_t threads() const noexcept { return threads_.size(); }
  /// Returns the scheduler of a simulated thread. It is the same for all processes of the host.
  [[nodiscard]] scheduler& thread(std::size_t i = 0) noexcept;
  /// Returns its file system, which its threads share.
  [[nodiscard]] file_system& files() noexcept { return files_; }

  // ---- Its process.

  /// Starts a process whose main task is `main(*this)`, on thread 0, with the contract of
  /// leat::run(): SIGINT and SIGTERM stop it, and its exit status is that of leat::run(). If the
  /// power was off, the machine starts first, with the files that a crash leaves.
  ///
  /// A process that still runs when the body of the world has ended is terminated. If one ends with
  /// an exception, and nobody has asked for its exit status, world::run() throws the exception.
  /// Errors: those of `main`. Precondition: no process runs, and this is not the host "local".
  void start(std::function<task<void>(host&)> main, const run_options& options = {});
  /// Returns true from start() to the end of the last task of the process.
  [[nodiscard]] bool is_running() const noexcept;
  /// Returns the exit status of the last process: 137 after terminate() and stop_power(). Empty
  /// while it runs.
  [[nodiscard]] std::optional<int> exit_status() const noexcept;
  /// Waits until the process has ended. Returns its exit status. Call it from a task of another
  /// host, such as the body. Errors: failed_precondition, if no process was started.
  [[nodiscard]] task<int> join();

  /// Sends a signal to the process. Without a guard that handles it, the process is terminated with
  /// the status 128 + `signal`.
  void raise(int signal);
  /// Ends the process at once, as SIGKILL does. The machine continues. No effect without a process.
  /// Like the two functions that follow, not for the host "local".
  void terminate();
  /// Ends the process, and the machine, at once.
  void stop_power();
  /// Stops the process for a while, as SIGSTOP does, or the whole machine, as the world decides.
  void pause(time_span lasts);

  // ---- Its clocks.

  /// Sets the wall clock forward or back by `offset`, and lets the steady clock run faster by `ppm`
  /// millionths, or slower if it is negative. Precondition: between -1,000,000 and 1,000,000.
  void set_clock(std::chrono::nanoseconds offset, double ppm = 0);
  /// Returns its wall-clock time.
  [[nodiscard]] wall_time_point wall_clock() const noexcept { return process_.wall_time(); }

 private:
  friend class world;
  host(world& w, std::string name, const host_options& options);

  // A change that takes effect after the current step.
  enum class change : unsigned char { none, pause, terminate, stop_power };

  void request(change c, int status);
  // Returns true if it may have to be called after the next step.
  bool settle();
  void kill(bool with_power);
  void begin_pause();
  void set_paused(bool paused) noexcept;
  [[nodiscard]] std::size_t live_tasks() const noexcept;
  void throw_unseen_error() const;

  world& world_;
  const std::string name_;
  std::unique_ptr<host_clock> clock_;
  time_point now_{};  // of the world
  simulated_process process_{now_};
  file_system files_;
  std::vector<std::unique_ptr<simulated_thread>> threads_;
  std::unique_ptr<simulated_call_part> calls_;  // before the threads are destroyed
  network_host* network_ = nullptr;
  std::shared_ptr<host_process> running_;  // or the last one
  int processes_ = 0;
  change requested_ = change::none;
  int status_ = 0;  // of the process that is terminated
  duration pause_{};
  std::uint64_t pauses_ = 0;  // the last one counts
  bool is_off_ = false;
  mutable bool is_status_seen_ = false;
};

}  // namespace LEAT::sim
