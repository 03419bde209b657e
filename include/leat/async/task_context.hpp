#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <string>
#include <string_view>

#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/scheduler/work_item.hpp"
#include "leat/async/task_id.hpp"
#include "leat/base/internal/frame_allocator.hpp"

namespace LEAT {

class task_scope;
class wait_operation;

namespace detail {
class dump_collector;
class joint_scope;
class promise_base;
class scope_handover;
class scope_registry;
struct stop_notice;
class task_local_node;
class watched_run;
std::string to_text(const work_item& item);
}  // namespace detail

/// The context of a spawned task and of all tasks that it awaits. It holds their scheduler, owner
/// and name, and the operation on which they wait.
///
/// Each spawned task has one; an awaited child shares the context of its parent. task_scope creates
/// and frees it.
///
/// Thread safety: thread-bound to its scheduler, except for the values that are fixed at spawn
/// (scheduler, scope, ID, name and spawn site).
class task_context : private work_item {
 public:
  task_context(scheduler& s, task_scope& scope, const std::source_location& spawned_at) noexcept
      : scheduler_(&s), scope_(&scope), spawned_at_(spawned_at) {}
  task_context(const task_context&) = delete;
  task_context& operator=(const task_context&) = delete;

  /// Returns the scheduler of the task.
  [[nodiscard]] scheduler& get_scheduler() const noexcept { return *scheduler_; }
  /// Returns the scope that owns the task.
  [[nodiscard]] task_scope& scope() const noexcept { return *scope_; }

  /// Returns the ID of the task, which stays unique for the life of the process.
  [[nodiscard]] inline task_id id() const noexcept;  // in task_scope.hpp

  /// Returns the name that was passed at spawn, or an empty string if there was none.
  [[nodiscard]] std::string_view name() const noexcept { return has_name() ? name_memory() : ""; }
  /// Returns the source location at which the task was spawned.
  [[nodiscard]] const std::source_location& spawned_at() const noexcept { return spawned_at_; }

  /// For task_local: returns the innermost value that is set in the task, or null. Thread safety:
  /// thread-bound to the scheduler of the task.
  [[nodiscard]] detail::task_local_node* locals() const noexcept;

  /// Returns the operation on which the task waits, or null while the task runs or is ready to run.
  [[nodiscard]] inline wait_operation* waiting() const noexcept;  // in wait_operation.hpp

  /// Returns true if the task was asked to stop. Thread safety: thread-safe.
  [[nodiscard, gnu::always_inline]] inline bool stop_requested()
      const noexcept;  // in task_scope.hpp

 private:
  friend class scheduler_driver;
  friend class task_scope;
  friend class wait_operation;
  friend class detail::dump_collector;
  friend class detail::joint_scope;
  friend class detail::promise_base;
  friend class detail::scope_handover;
  friend class detail::scope_registry;
  friend class detail::watched_run;
  friend struct detail::stop_notice;
  friend std::string detail::to_text(const work_item& item);

  // The item is for the start alone. From then on run_ is null and next_ the operation on which the
  // task waits.
  void set_started() noexcept {
    run_ = nullptr;
    next_ = nullptr;
  }
  void set_waiting(work_item* w) noexcept { next_ = w; }

  // Few tasks inherit values of task-locals or have a name. These follow the context in its memory:
  // a pointer to the values, which the context shares, then the name, ended by a zero.
  static constexpr std::uint64_t name_flag = 1;
  static constexpr std::uint64_t locals_flag = 2;
  static constexpr std::uint64_t one_task = 4;  // of the number above the flags
  [[nodiscard]] static std::size_t size_with(bool locals, std::string_view name) noexcept {
    return sizeof(task_context) + (locals ? sizeof(detail::task_local_node*) : 0) +
           (name.empty() ? 0 : name.size() + 1);
  }
  [[nodiscard]] std::uint64_t index() const noexcept { return index_ / one_task; }
  [[nodiscard]] bool has_name() const noexcept { return (index_ & name_flag) != 0; }
  [[nodiscard]] bool has_locals() const noexcept { return (index_ & locals_flag) != 0; }
  [[nodiscard]] const char* name_memory() const noexcept {
    return reinterpret_cast<const char*>(this + 1) +
           (has_locals() ? sizeof(detail::task_local_node*) : 0);
  }
  [[nodiscard]] detail::task_local_node* inherited_locals() const noexcept {
    detail::task_local_node* locals = nullptr;
    if (has_locals()) std::memcpy(&locals, this + 1, sizeof(locals));
    return locals;
  }
  // `locals` may be null, and `name` empty.
  void set_tail(detail::task_local_node* locals, std::string_view name) noexcept {
    auto* memory = reinterpret_cast<char*>(this + 1);
    if (locals) {
      index_ |= locals_flag;
      std::memcpy(memory, &locals, sizeof(locals));
      memory += sizeof(locals);
    }
    if (name.empty()) return;
    index_ |= name_flag;
    std::memcpy(memory, name.data(), name.size());
    memory[name.size()] = 0;
  }
  static void free(task_context& c) noexcept {
    if ((c.index_ & (name_flag | locals_flag)) != 0) [[unlikely]]
      return free_with_tail(c);
    detail::free_frame(&c, sizeof(task_context));
  }
  [[gnu::cold]] static void free_with_tail(task_context& c) noexcept;

  scheduler* scheduler_;
  std::uint64_t index_ = 0;  // the flags, and above them the number that the scope sets
  task_scope* scope_;
  // The end of the chain of awaiting tasks. Null while the outermost one, at its end, destroys its
  // frame.
  detail::promise_base* innermost_ = nullptr;
  task_context* previous_ = nullptr;  // the scope's list of children
  task_context* following_ = nullptr;
  std::source_location spawned_at_;
};

}  // namespace LEAT
