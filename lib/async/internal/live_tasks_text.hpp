#pragma once

#include <chrono>
#include <cstddef>
#include <source_location>
#include <string>
#include <vector>

#include "leat/base/clock.hpp"

namespace LEAT {

class task_context;
class scheduler;
class task_scope;

namespace detail {

// The messages of scopes and schedulers that name tasks. The dump defines them.

/// The name of a task, or the source location of its spawn.
[[nodiscard]] std::string name_of(const task_context& task);

/// "task 'parse'" for the name of a task, as name_of() returns it, or "task spawned at ...".
[[nodiscard]] std::string task_text(const std::string& name);

/// "2 tasks have not ended" and the dump, for the thread that drives these schedulers, between two
/// of their turns: their state is read directly, not queried.
[[nodiscard]] std::string describe_live_tasks(std::size_t live_tasks,
                                              const std::vector<const scheduler*>& driven);

/// The tasks and threads of a scope that have not ended, with what belongs to each, every line
/// indented; empty if there are none. Queries the schedulers like task_scope::report().
[[nodiscard]] std::string describe_live_tasks(const task_scope& scope,
                                              duration patience = std::chrono::seconds(1));

/// The operation that the newest task of a scope waits for, with its place: one line. Called on the
/// scheduler of that task.
[[nodiscard]] std::string wait_of_first_task(const task_scope& scope);

/// Prints to standard error that the select or limit at `where` still waits for its task, the only
/// one of `scope`, which was asked to stop `patience` ago.
void print_late_task(const task_scope& scope, const std::source_location& where,
                     std::chrono::seconds patience) noexcept;

/// Ends the process because a scope is destroyed before its tasks were joined. Prints the name of
/// the scope, its tasks with what they wait for, and the exception that is propagating, if any.
[[noreturn]] void scope_destroyed(const task_scope& scope) noexcept;

}  // namespace detail
}  // namespace LEAT
