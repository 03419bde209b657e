#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "leat/async/tracing/task_hooks.hpp"

namespace LEAT {

class task_context;
class wait_operation;

namespace detail {

/// The hooks that are installed in the process, in the order of their installation. A list never
/// changes: each scheduler keeps one, and takes the newest one at the beginning of a turn.
class installed_hooks {
 public:
  installed_hooks() = default;
  /// Copies the hooks that are not removed. Errors: std::bad_alloc.
  installed_hooks(const installed_hooks& other);
  installed_hooks& operator=(const installed_hooks&) = delete;

  /// Adds `hooks`. Errors: std::bad_alloc. Thread safety: thread-safe.
  static void add(const std::shared_ptr<task_hooks>& hooks);
  /// Removes `hooks`; no call of them begins afterwards. Thread safety: thread-safe.
  static void remove(const std::shared_ptr<task_hooks>& hooks) noexcept;

  /// Returns the newest list, or null if it is empty. Sets `changes` to the number of
  /// changes of the list so far.
  [[nodiscard]] static std::shared_ptr<const installed_hooks> newest(unsigned& changes) noexcept;

  void started(const task_context& task) const noexcept;
  void resumed(const task_context& task) const noexcept;
  void waits(const task_context& task, const wait_operation& operation) const noexcept;
  void ended(const task_context& task, const std::exception_ptr& error) const noexcept;

 private:
  struct entry {
    explicit entry(std::shared_ptr<task_hooks> h) noexcept : hooks(std::move(h)) {}
    const std::shared_ptr<task_hooks> hooks;
    std::atomic<bool> is_removed{false};
  };
  template <class F>
  void each(F call) const noexcept;

  std::vector<std::shared_ptr<entry>> entries_;
};

}  // namespace detail
}  // namespace LEAT
