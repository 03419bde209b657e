#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <string>

#include "leat/async/loop/run.hpp"
#include "leat/async/loop/stop_on_signal.hpp"
#include "leat/async/task.hpp"
#include "leat/sync/event.hpp"

namespace LEAT::sim {

class host;

/// A process on a host: its main task, and what it leaves behind.
///
/// States: the main task runs; it has ended and the rest is asked to stop; ended.
///
/// Thread safety: none.
class host_process {
 public:
  using main_function = std::function<task<void>(host&)>;

  /// Sets `changed` when its main task has ended.
  host_process(host& h, main_function main, const run_options& options, bool& changed);
  host_process(const host_process&) = delete;
  host_process& operator=(const host_process&) = delete;

  /// Starts the main task on a scheduler of the host.
  void begin(scheduler& on);
  /// Returns true once, when the main task has ended: the rest must stop.
  [[nodiscard]] bool take_main_end() noexcept;
  [[nodiscard]] bool has_main_ended() const noexcept { return main_ended_; }
  /// All tasks have ended: sets the exit status.
  void end();
  /// The tasks were destroyed.
  void killed(int status);

  [[nodiscard]] const std::optional<int>& status() const noexcept { return status_; }
  [[nodiscard]] const std::exception_ptr& error() const noexcept { return error_; }
  /// Returns a line for the schedule, such as "ends with status 1: not found".
  [[nodiscard]] std::string end_text() const;
  /// Set when the process has ended.
  [[nodiscard]] event& ended() noexcept { return ended_; }

 private:
  struct main_stop {
    host_process& process;
    void request_stop() noexcept { process.scope_.request_scope_stop(); }
  };

  task<void> run_main();
  void release_guard() noexcept;

  host& host_;
  const main_function main_;
  const run_options options_;
  bool& changed_;
  leat::detail::root_scope scope_{"process"};
  main_stop stop_{*this};
  std::optional<stop_on_signal> guard_;
  int signal_ = 0;
  bool is_main_over_ = false;
  bool main_ended_ = false;  // and the rest was asked to stop
  std::optional<int> status_;
  std::exception_ptr error_;
  event ended_{"end of a process"};
};

}  // namespace LEAT::sim
