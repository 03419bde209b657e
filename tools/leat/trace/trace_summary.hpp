#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "terminal/output.hpp"

namespace tool {

/// Times in a trace count from its begin.
using trace_time = std::chrono::duration<double, std::micro>;

/// A stretch of time in which a scheduler ran a task, or several: a turn.
struct trace_run {
  std::uint64_t scheduler = 0;
  trace_time begin{};
  trace_time lasted{};
  std::string task = {};  ///< its name; empty for a turn
  std::string from = {};  ///< the place of the wait before the run; may be empty
  std::string until = {};
  std::vector<std::pair<std::string, std::string>> values = {};  ///< of named task-locals
  std::uint64_t runs = 1;                                        ///< of a turn
};

/// All tasks with the same name.
struct task_totals {
  std::uint64_t tasks = 0;
  std::uint64_t runs = 0;
  trace_time busy{};
  trace_time waited{};
  trace_time longest_run{};
  std::map<std::string, trace_time> waits;  ///< by what they waited for

  /// Returns the entry of `waits` with the longest time. Precondition: there is one.
  [[nodiscard]] const std::pair<const std::string, trace_time>& main_wait() const;
};

struct scheduler_totals {
  std::string name;
  std::uint64_t runs = 0;
  trace_time busy{};
  trace_time longest_run{};
};

/// A task that waited when the trace ended.
struct open_wait {
  std::string task;
  std::string wait;
  std::string at;
  trace_time lasted{};
};

/// Adds up the events of a trace_file.
class trace_summary {
 public:
  /// `most`: the number of longest runs, turns and waits to keep.
  explicit trace_summary(std::size_t most) noexcept : most_(most) {}

  /// Adds an event. Ignores events that trace_file does not write. Errors: json::exception
  /// if a member is missing or has the wrong type.
  void add(const json& event);

  /// Call it after the last event.
  void finish();

  std::string process = {};
  trace_time length{};
  std::uint64_t tasks = 0;
  std::uint64_t runs = 0;
  std::uint64_t lost_events = 0;
  bool reached_max_bytes = false;
  bool is_complete = false;  ///< false: the end of the file is missing

  std::map<std::uint64_t, scheduler_totals> schedulers = {};
  std::map<std::string, task_totals> by_name = {};
  // After finish(), with the longest first.
  std::vector<trace_run> longest_runs = {};
  std::vector<trace_run> longest_turns = {};  ///< of several runs
  std::vector<open_wait> open_waits = {};

 private:
  struct live_task {
    std::string name = {};
    std::string wait = {};
    std::string at = {};
    trace_time since{};
    bool is_waiting = false;
  };

  void add_metadata(const json& event, const std::string& name);
  void add_run(const json& event, const std::string& name);
  void add_turn(const json& event);
  void add_begin(const json& event, const std::string& name);
  void add_end(const json& event);
  void keep(std::vector<trace_run>& longest, trace_run run) const;

  std::size_t most_;
  std::unordered_map<std::string, live_task> live_;  // by their ID in the trace
};

}  // namespace tool
