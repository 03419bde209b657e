#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "leat/async/task_scope.hpp"
#include "leat/base/internal/biased_mutex.hpp"

namespace LEAT::detail {

/// A list of scopes, with its lock.
struct alignas(64) registry_shard {
  using guard = biased_lock;  // the model tests replace both
  biased_mutex mutex;
  task_scope* newest LEAT_GUARDED_BY(mutex) = nullptr;
};

/// The scopes of the process, for dump(), and the links through which a stop reaches the scopes
/// that stop together with another one.
///
/// Scopes are created and destroyed often, mostly on the thread that uses them. So each thread adds
/// its scopes to a list of its own, a shard. Its lock costs that thread no atomic instruction until
/// another thread locks it. Threads share shards if there are more threads than shards. The shards
/// are static, because a scope may outlive the thread that created it.
///
/// The lock of a shard also guards the links of its scopes to their children, since a parent may be
/// destroyed before its child: the child locks the shard of its parent instead of the parent. A
/// scope that stops with a parent of the same shard is only in the list of that parent's children,
/// and moves to the list of the shard when it loses its parent. A scope whose parent is in another
/// shard is in both lists. `parent_shard_` stays set after the parent is gone: it is the lock of
/// `stops_in_progress_`. A scope that never had a parent has its own shard there.
///
/// Lock order: the shards by index, then the `mutex_` of one scope. No function locks a shard while
/// it holds the lock of a scope, and only lock_all and all_shards hold more than one shard.
///
/// Thread safety: thread-safe.
class scope_registry {
 public:
  /// Adds a scope. A stop of `parent`, unless null, stops it as well.
  static void add(task_scope& s, task_scope* parent) noexcept;
  /// Like add(), but returns false, without effect, if it is not simple: this thread must use both
  /// shards. Makes no call.
  [[nodiscard]] static bool add_quickly(task_scope& s,
                                        task_scope* parent) noexcept LEAT_NO_ANALYSIS;
  /// Removes a scope from the stop of its parent. Waits for a stop of it that is in progress.
  static void remove_from_parent(task_scope& s) noexcept;
  /// Removes a scope from its list and from the stop of its parent. Waits like the above.
  static void remove(task_scope& s) noexcept;
  /// Like remove(), but returns false, without effect, if it is not simple. Makes no call.
  [[nodiscard]] static bool remove_quickly(task_scope& s) noexcept LEAT_NO_ANALYSIS;

  /// Removes a child from the stop of `s` and returns it, or null if there is none. The child
  /// remains until end_stop() is called for it, and its `previous_sibling_` is `s` until then.
  [[nodiscard]] static task_scope* begin_stop_of_child(task_scope& s) noexcept;
  static void end_stop(task_scope& child) noexcept;

  /// Holds the locks of all shards, which keeps all scopes alive.
  class lock_all {
   public:
    lock_all() noexcept LEAT_NO_ANALYSIS;
    ~lock_all() LEAT_NO_ANALYSIS;
    lock_all(const lock_all&) = delete;
    lock_all& operator=(const lock_all&) = delete;

    /// Calls `f` with each scope, in no particular order.
    template <class F>
    void each(F&& f) const LEAT_NO_ANALYSIS {
      for (std::size_t i = 0; i < count_; ++i) {
        for (task_scope* s = shards_[i].newest; s; s = s->following_scope_) each_of(*s, f);
      }
    }

   private:
    // Calls `f` with `root` and the scopes below it that are in no other list, without recursion.
    template <class F>
    static void each_of(task_scope& root, F& f) {
      const auto listed = [&root](task_scope* s) noexcept {
        while (s && s->shard_ != root.shard_) s = s->following_sibling_;
        return s;
      };
      for (task_scope* s = &root; s;) {
        f(*s);
        task_scope* next = listed(s->first_child_);
        for (; !next && s != &root; s = s->parent_) next = listed(s->following_sibling_);
        s = next;
      }
    }

    const std::size_t count_;  // of shards that have been used
    std::array<bool, 64> as_owner_;
  };

  /// Holds the locks of all shards during fork(), so that its child finds no lock held and no link
  /// half done.
  class all_shards {
   public:
    void lock() noexcept LEAT_NO_ANALYSIS;
    void unlock() noexcept LEAT_NO_ANALYSIS;

   private:
    std::size_t count_ = 0;  // of shards that are locked
  };

  /// Returns a number that every scope created so far has or is below, and that no later one is.
  [[nodiscard]] static std::uint64_t made() noexcept;

  /// Returns true if `c` is the task `ancestor`, or belongs, directly or indirectly, to a scope
  /// that this task has created since a call of made() that returned `made`.
  /// Cost: linear in the scopes of the process for each scope between the two.
  [[nodiscard]] static bool is_within(const task_context& c, const task_id& ancestor,
                                      std::uint64_t made) noexcept;

  /// Returns the name of a task, or an empty string if it has ended. For messages.
  /// Errors: std::bad_alloc. Cost: linear in the scopes of the process.
  [[nodiscard]] static std::string find_name(const task_id& task);

  /// Requests a stop of every scope with a task on `sched`. Returns false if a stop of each of them
  /// was requested before. Called on the thread that drives `sched`, between two loop iterations,
  /// so the tasks cannot finish during the call.
  static bool stop_scopes_on(const scheduler& sched);

 private:
  using shard = registry_shard;

  // A thread's shard and the numbers that it may give to its scopes, [next, end). A scope has a
  // higher number than the scope of the task that created it, and than every scope that existed
  // when made() was called.
  struct thread_state {
    shard* own = nullptr;
    std::uint64_t next = 0;
    std::uint64_t end = 0;
    std::uint64_t epoch = 0;
  };

  static void take_numbers(thread_state& here) noexcept;
  static void take_shard(thread_state& here) noexcept;
  static void link_to_parent(task_scope& s, task_scope& parent) noexcept;
  static void link(task_scope& s, shard& own) noexcept LEAT_NO_ANALYSIS;
  static void unlink_from_parent(task_scope& s) noexcept;
  // Unlinks it and keeps it in a list.
  static void leave_parent(task_scope& s) noexcept;
  static void unlink(task_scope& s) noexcept LEAT_NO_ANALYSIS;
  // Unlinks it from all lists, and its children from it.
  static void unlink_all(task_scope& s) noexcept;
  static void wait_for_stop(task_scope& s) noexcept;

  // tools/gdb/leat.py begins here.
  static constinit std::array<shard, 64> shards_;
  // Used with builtins: the model tests replace std::atomic by a type that cannot be static.
  static constinit std::uint64_t numbers_taken_;
  static constinit std::uint64_t current_epoch_;
  static constinit std::size_t threads_seen_;
  static constinit thread_local thread_state here_
#if defined(__GNUC__)
      __attribute__((tls_model("initial-exec")))
#endif
      ;
};

inline void scope_registry::link(task_scope& s, shard& own) noexcept {
  s.previous_scope_ = nullptr;
  s.following_scope_ = std::exchange(own.newest, &s);
  if (s.following_scope_) s.following_scope_->previous_scope_ = &s;
}

inline bool scope_registry::add_quickly(task_scope& s, task_scope* parent) noexcept {
  thread_state& here = here_;
  shard* const own = here.own;
  const std::uint64_t number = here.next;
  if (number >= here.end || number <= s.maker_.scope ||
      here.epoch != __atomic_load_n(&current_epoch_, __ATOMIC_RELAXED) ||
      (parent && parent->shard_ != own) || !own->mutex.try_lock_as_owner()) [[unlikely]] {
    return false;
  }
  here.next = number + 1;
  s.number_ = number;
  s.shard_ = own;
  s.parent_shard_ = own;
  if (parent) {
    link_to_parent(s, *parent);
  } else {
    link(s, *own);
  }
  own->mutex.unlock(true);
  return true;
}

inline void scope_registry::link_to_parent(task_scope& s, task_scope& parent) noexcept {
  s.parent_ = &parent;
  s.following_sibling_ = std::exchange(parent.first_child_, &s);
  if (s.following_sibling_) s.following_sibling_->previous_sibling_ = &s;
}

inline void scope_registry::unlink_from_parent(task_scope& s) noexcept {
  (s.previous_sibling_ ? s.previous_sibling_->following_sibling_ : s.parent_->first_child_) =
      s.following_sibling_;
  if (s.following_sibling_) s.following_sibling_->previous_sibling_ = s.previous_sibling_;
}

inline void scope_registry::leave_parent(task_scope& s) noexcept {
  unlink_from_parent(s);
  s.parent_ = nullptr;
  if (s.parent_shard_ == s.shard_) link(s, *s.shard_);
}

inline void scope_registry::unlink(task_scope& s) noexcept {
  (s.previous_scope_ ? s.previous_scope_->following_scope_ : s.shard_->newest) = s.following_scope_;
  if (s.following_scope_) s.following_scope_->previous_scope_ = s.previous_scope_;
}

inline void scope_registry::unlink_all(task_scope& s) noexcept {
  if (s.parent_ && s.parent_shard_ == s.shard_) {
    unlink_from_parent(s);
  } else {
    unlink(s);
  }
  while (s.first_child_) [[unlikely]]
    leave_parent(*s.first_child_);
}

inline bool scope_registry::remove_quickly(task_scope& s) noexcept {
  shard& own = *s.shard_;
  if (s.parent_shard_ != &own || !own.mutex.try_lock_as_owner()) [[unlikely]]
    return false;
  const bool simple = s.stops_in_progress_ == 0 && !s.first_child_;
  if (simple) [[likely]] {
    if (s.parent_) {
      unlink_from_parent(s);
    } else {
      unlink(s);
    }
  }
  own.mutex.unlock(true);
  return simple;
}

}  // namespace LEAT::detail
