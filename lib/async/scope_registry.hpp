#pragma once

#include <cstdint>
#include <mutex>

#include "leat/async/task_scope.hpp"

namespace leat::detail {

/// The scopes of the process, newest first, for dump().
/// Thread safety: thread-safe; a walk holds mutex() throughout, which keeps scopes alive.
class scope_registry {
 public:
  static void add(task_scope& s) noexcept;
  static void remove(task_scope& s) noexcept;

  static std::mutex& mutex() noexcept;

  /// First and next scope of a walk; null at the end.
  static task_scope* first() noexcept { return newest_; }
  static task_scope* next(const task_scope& s) noexcept { return s.following_scope_; }

  /// Returns the number of scopes created so far; later ones have higher numbers.
  [[nodiscard]] static std::uint64_t made() noexcept;

  /// Returns true if `c` is the task `ancestor`, or belongs, directly or indirectly, to a scope
  /// that this task has created after the first `made` scopes of the process.
  /// Cost: linear in the scopes of the process for each scope between the two.
  [[nodiscard]] static bool is_within(const task_context& c, const task_id& ancestor,
                                      std::uint64_t made) noexcept;

  /// Requests a stop of every scope with a task on `sched`. Returns false if a stop of each of them
  /// was requested before. Called on the thread that drives `sched`, between two loop iterations,
  /// so the tasks cannot finish during the call.
  static bool stop_scopes_on(const scheduler& sched);

 private:
  // Guarded by mutex(). tools/gdb/leat.py begins here.
  static constinit task_scope* newest_;
  static constinit std::uint64_t made_;  // the number of scopes ever created
};

}  // namespace leat::detail
