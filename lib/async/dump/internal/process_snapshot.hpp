#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/dump/internal/metric_sample.hpp"
#include "leat/async/task_context.hpp"
#include "leat/async/task_id.hpp"
#include "leat/async/wait_target.hpp"
#include "leat/base/clock.hpp"

namespace LEAT::detail {

// The state of all tasks as plain values: collected once, then printed in any format.

/// A source location, without its folder and without the compiler's decoration.
struct code_location {
  std::string file;
  std::uint_least32_t line = 0;
  std::string function;  ///< empty when it is not known
};

struct wait_state {
  std::string verb;
  std::string words;  ///< the object, for a person; may be empty
  wait_target object;
  code_location at;
  duration lasted{};
};

struct scope_state;

struct task_state {
  task_id id;
  std::string name;  ///< as given at spawn, or the source location of the spawn
  code_location spawned_at;
  const void* scheduler = nullptr;
  bool answered = false;                       ///< false: no more than the above is known
  std::string held_by = {};                    ///< what holds its scheduler, if it is watched
  std::optional<wait_state> waiting = {};      ///< empty: it runs or is ready to
  std::vector<code_location> awaited_at = {};  ///< innermost first
  /// The names and values of named task-locals, innermost first.
  std::vector<std::pair<std::string, std::string>> values = {};
  std::vector<scope_state> scopes;  ///< the scopes that it created
};

/// A thread of a coordinator.
struct thread_state {
  task_id id;
  std::string name;
  bool started_elsewhere = false;          ///< true: no more than the above is known
  std::optional<wait_state> waiting = {};  ///< empty: it runs
  const void* blocked_on = nullptr;        ///< distinguishes waits
  std::vector<scope_state> scopes;         ///< whose tasks it runs, or for which it waits
};

struct scope_state {
  std::uint64_t number = 0;
  task_id parent;  ///< the task or thread that created it
  std::string kind;
  std::string name;
  bool stop_requested = false;
  std::vector<task_state> tasks = {};
  std::vector<thread_state> threads = {};
};

/// An operation that waits on a queue or a primitive.
struct waiting_operation {
  enum class waiter : std::uint8_t { task, coroutine, handler, thread };
  std::string_view verb = {};
  bool selected = false;      ///< part of a select
  waiter who = waiter::task;  ///< coroutine: outside the tasks of leat
  task_id task = {};          ///< of the task
  const void* wait = nullptr;
  std::source_location at = {};
  std::size_t asked = 1;
  std::size_t done = 0;
  bool is_batch = false;  ///< it moves items one by one, and `done` counts them
  std::string name = {};  ///< of the task or thread; empty when it is not known
};

/// A queue, or a primitive on which operations wait.
struct object_state {
  std::uint64_t number = 0;
  std::string_view type = {};  ///< "queue", "mutex", ...
  std::string name = {};
  std::string words = {};                    ///< as messages name it: "queue 'lines' (0 of 4)"
  std::size_t size = 0;                      ///< of a queue, and the two lines that follow
  std::optional<std::size_t> capacity = {};  ///< empty without a limit
  bool closed = false;
  bool close_waits = false;  ///< a close takes effect after the pushes that wait
  std::uint64_t refused = 0;
  std::vector<waiting_operation> waiting = {};
  std::vector<metric_sample> samples = {};  ///< for metrics() alone
};

/// A scheduler that did not reply in time.
struct unresponsive_scheduler {
  const void* scheduler;
  std::size_t tasks;
};

/// A cycle: tasks and threads, each of which waits for the next one and the last one for the first.
struct wait_cycle {
  std::vector<task_id> tasks;
  bool certain = false;  ///< false: an unknown caller could end one of the waits
  std::string text;      ///< one sentence
};

struct process_snapshot {
  std::vector<scope_state> scopes = {};  ///< not created by a live task; they contain the others
  std::vector<unresponsive_scheduler> unresponsive = {};
  std::vector<object_state> objects =
      {};  ///< the oldest first; none if only one scope was asked for
  std::vector<wait_cycle> cycles = {};
};

[[nodiscard]] code_location to_code_location(const std::source_location& where);

}  // namespace LEAT::detail
