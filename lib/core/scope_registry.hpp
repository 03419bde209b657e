#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

#include "leat/core/task_scope.hpp"

namespace leat::detail {

/// The scopes of the process, newest first, for dump().
/// Thread safety: shared-safe; a walk holds mutex() as long as it lasts, which keeps scopes alive.
class scope_registry {
 public:
  static void add(task_scope& s) noexcept;
  static void remove(task_scope& s) noexcept;

  static std::mutex& mutex() noexcept;

  /// First and next scope of a walk; null at the end.
  static task_scope* first() noexcept;
  static task_scope* next(const task_scope& s) noexcept { return s.following_scope_; }
  static const context* parent(const task_scope& s) noexcept { return s.parent_; }

  /// "2 tasks have not ended" and the dump, for the thread that drives these schedulers, between
  /// two of their turns: they are not asked but looked at.
  static std::string where_everyone_is(std::size_t live_tasks,
                                       const std::vector<const scheduler*>& driven);

  /// Asks every scope with a task on `home` to stop. False: each of them was asked before.
  /// Called on the thread that drives `home`, between two turns, so the tasks cannot end meanwhile.
  static bool stop_scopes_of(const scheduler& home);
};

}  // namespace leat::detail
