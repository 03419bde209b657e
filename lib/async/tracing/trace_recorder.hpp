#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "async/tracing/trace_output.hpp"
#include "leat/async/tracing/task_hooks.hpp"
#include "leat/async/tracing/trace_file.hpp"
#include "leat/base/clock.hpp"

namespace LEAT {
class scheduler;
}

namespace LEAT::detail {

/// The hooks of a trace_file: turns what tasks do into events.
///
/// Each scheduler has a track, whose lock only its thread and, four times a second, the writing
/// thread take. A full text of a track goes to the output.
class trace_recorder final : public task_hooks {
 public:
  /// Errors: those of trace_file.
  trace_recorder(std::string path, const trace_file_options& options);
  ~trace_recorder() override;

  /// Installs the hooks and starts the thread that writes. Errors: those of trace_file.
  static void begin(const std::shared_ptr<trace_recorder>& self);
  /// Removes the hooks and writes what is left. Errors: std::system_error.
  void end();

  void on_start(const task_context& task) noexcept override;
  void on_resume(const task_context& task) noexcept override;
  void on_wait(const task_context& task, const wait_operation& operation) noexcept override;
  void on_end(const task_context& task, const std::exception_ptr& error) noexcept override;

 private:
  struct track;
  struct live_task;

  [[nodiscard]] bool is_recording() const noexcept;
  // Calls `record` with the track of the task's scheduler, locked, and the time since the begin.
  template <class F>
  void on_track(const task_context& task, F record) noexcept;
  [[nodiscard]] track& track_of(const scheduler& s);
  [[nodiscard]] duration since_begin(time_point now) noexcept;
  live_task& find_task(track& t, const task_context& task, duration now);
  void begin_run(track& t, const task_context& task, duration now);
  void end_run(track& t, const task_context& task, duration now, std::string_view until,
               std::string_view place);
  void end_turn(track& t);
  void end_turns();
  void sample_queues(track& t, const scheduler& s, duration now);
  void hand_over(track& t) noexcept;
  void collect() noexcept;
  [[nodiscard]] std::string last_line() const;

  const std::uint64_t serial_;  // distinguishes recorders at the same address
  const unsigned generation_;   // of fork()
  const duration queue_interval_;
  trace_output output_;
  std::atomic<std::uint64_t> lost_events_{0};
  std::atomic<bool> has_begun_{false};
  std::atomic<std::int64_t> begin_{0};  // of the trace, on the clock of the first scheduler

  std::mutex mutex_;
  std::unordered_map<const scheduler*, std::unique_ptr<track>> tracks_;  // guarded by mutex_
  std::atomic<std::int64_t> next_sample_{0};  // of the sizes of queues, since the begin
  std::mutex sizes_mutex_;
  std::unordered_map<std::uint64_t, std::size_t> sizes_;  // of queues; guarded by sizes_mutex_

  std::unique_ptr<task_hooks_scope> installed_;
};

}  // namespace LEAT::detail
