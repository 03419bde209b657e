#pragma once

#include <atomic>
#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>

#include "leat/base/internal/frame_allocator.hpp"

namespace LEAT::detail {

/// A value of a task_local, and those that were set around it. The coroutine that set the value and
/// the tasks that inherit it share the node, which never changes.
/// Thread safety: thread-safe.
class task_local_node {
 public:
  /// `owner`: the task_local, and `name` its name. `outer` may be null. Call keep_outer() once the
  /// value is constructed.
  task_local_node(const void* owner, std::string_view name, task_local_node* outer) noexcept
      : owner_(owner), name_(name), outer_(visible_from(owner, outer)) {}
  task_local_node(const task_local_node&) = delete;
  task_local_node& operator=(const task_local_node&) = delete;

  /// Returns the task_local to which the value belongs.
  [[nodiscard]] const void* owner() const noexcept { return owner_; }
  /// Returns the name of the task_local, or an empty string if it has none.
  [[nodiscard]] std::string_view name() const noexcept { return name_; }
  /// Returns the node around this one, or null.
  [[nodiscard]] task_local_node* outer() const noexcept { return outer_; }

  /// Prints the value, or nothing if its type cannot be printed. Errors: those of the value's
  /// operator<<.
  virtual void print(std::ostream& out) const = 0;

  /// Returns the value as text; a note if it cannot be printed. Errors: std::bad_alloc.
  [[nodiscard]] std::string text() const;

  /// Calls f with each node that has a name, from `innermost`, which may be null, outwards. Leaves
  /// out those that an inner value of the same task_local hides.
  template <class F>
  static void each_named(const task_local_node* innermost, F f) {
    for (const task_local_node* n = innermost; n; n = n->outer_) {
      const task_local_node* first = innermost;
      while (first->owner_ != n->owner_) first = first->outer_;
      if (first == n && !n->name_.empty()) f(*n);
    }
  }

  /// Adds an owner.
  task_local_node& share() noexcept {
    owners_.fetch_add(1, std::memory_order_relaxed);
    return *this;
  }
  /// Removes an owner. The last one destroys the value, and releases the nodes around it.
  void release() noexcept;

  static void* operator new(std::size_t size) { return allocate_frame(size); }
  static void operator delete(void* p, std::size_t size) noexcept { free_frame(p, size); }

 protected:
  virtual ~task_local_node() = default;

  void keep_outer() noexcept {
    if (outer_) outer_->share();
  }

 private:
  // Without values that the new one hides, so that a task that spawns its successor with a value
  // of its own does not keep those of all its predecessors.
  static task_local_node* visible_from(const void* owner, task_local_node* outer) noexcept {
    while (outer && outer->owner_ == owner) outer = outer->outer_;
    return outer;
  }

  const void* const owner_;
  const std::string_view name_;
  task_local_node* const outer_;
  std::atomic<unsigned> owners_{1};
};

/// Returns the innermost node of the running task; of the task whose frames are being destroyed; or
/// of the task for which this thread runs a function of run_blocking(). Null if there is none.
[[nodiscard]] task_local_node* current_task_locals() noexcept;

/// Makes this thread see the values of a task, which waits meanwhile.
class borrowed_task_locals {
 public:
  explicit borrowed_task_locals(task_local_node* locals) noexcept;
  ~borrowed_task_locals();
  borrowed_task_locals(const borrowed_task_locals&) = delete;
  borrowed_task_locals& operator=(const borrowed_task_locals&) = delete;

 private:
  task_local_node* const before_;
};

/// An owner of a node, in the frame of the coroutine that has set the value.
class task_local_owner {
 public:
  /// Takes over one ownership of `node`.
  explicit task_local_owner(task_local_node& node) noexcept
      : node_(node), before_(current_task_locals()) {}
  task_local_owner(const task_local_owner&) = delete;
  task_local_owner& operator=(const task_local_owner&) = delete;
  ~task_local_owner();

  /// Returns the node.
  [[nodiscard]] task_local_node& node() const noexcept { return node_; }

 private:
  task_local_node& node_;
  task_local_node* const before_;  // seen by the outer frames
};

}  // namespace LEAT::detail
