#pragma once

#include <cstdint>
#include <mutex>

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
  static task_scope* first() noexcept { return newest_; }
  static task_scope* next(const task_scope& s) noexcept { return s.following_scope_; }

  /// Asks every scope with a task on `home` to stop. False: each of them was asked before.
  /// Called on the thread that drives `home`, between two turns, so the tasks cannot end meanwhile.
  static bool stop_scopes_of(const scheduler& home);

 private:
  // Guarded by mutex(). tools/gdb/leat.py begins here.
  static constinit task_scope* newest_;
  static constinit std::uint64_t made_;  // so many were there ever
};

}  // namespace leat::detail
