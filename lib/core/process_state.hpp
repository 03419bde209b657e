#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "leat/core/clock.hpp"
#include "leat/core/context.hpp"
#include "leat/core/task_id.hpp"
#include "leat/core/wait_object.hpp"

namespace leat::detail {

// Where everyone is, as plain values: collected once, then printed in whatever form.

/// A place in the source, without its folder and without the compiler's decoration.
struct place {
  std::string file;
  std::uint_least32_t line = 0;
  std::string function;  ///< empty when it is not known
};

struct wait_state {
  std::string verb;
  std::string words;  ///< the object, for a person; may be empty
  wait_object object;
  place at;
  duration lasted{};
};

struct scope_state;

struct task_state {
  task_id id;
  std::string name;  ///< as given at spawn, or the place where it was spawned
  place spawned_at;
  const void* scheduler = nullptr;
  bool answered = false;                   ///< false: no more than the above is known
  std::optional<wait_state> waiting = {};  ///< empty: it runs or is ready to
  std::vector<place> awaited_at = {};      ///< innermost first
  std::vector<scope_state> scopes;         ///< those that it has made
};

/// A thread of a coordinator.
struct thread_state {
  task_id id;
  std::string name;
  bool started_elsewhere = false;          ///< true: no more than the above is known
  std::optional<wait_state> waiting = {};  ///< empty: it runs
};

struct scope_state {
  std::uint64_t number = 0;
  task_id parent;  ///< the task that made it
  std::string kind;
  std::string name;
  bool stop_requested = false;
  std::vector<task_state> tasks = {};
  std::vector<thread_state> threads = {};
};

/// A scheduler that did not answer in time.
struct silent_scheduler {
  const void* scheduler;
  std::size_t tasks;
};

/// Tasks and threads of which each waits for the next one, and the last one for the first.
struct wait_cycle {
  std::vector<task_id> tasks;
  bool certain = false;  ///< false: somebody unknown could end one of the waits
  std::string text;      ///< one sentence
};

struct process_state {
  std::vector<scope_state> scopes =
      {};  ///< those that no living task has made, and in them the others
  std::vector<silent_scheduler> silent = {};
  std::vector<wait_cycle> cycles = {};
};

/// The name of a task, or the place where it was spawned.
[[nodiscard]] std::string name_of(const context& task);

[[nodiscard]] place place_of(const std::source_location& where);

}  // namespace leat::detail
