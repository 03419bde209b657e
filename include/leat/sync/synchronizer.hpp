#pragma once

#include <atomic>
#include <cstddef>
#include <source_location>
#include <string>

#include "leat/async/dump/internal/live_object.hpp"
#include "leat/async/operation/forms.hpp"
#include "leat/async/scheduler/work_item.hpp"
#include "leat/async/wait_target.hpp"
#include "leat/base/clock.hpp"
#include "leat/sync/detail/synchronizer_mutex.hpp"
#include "leat/sync/synchronizer_waiter.hpp"

namespace LEAT {

namespace detail {
class state_synchronizer;
}  // namespace detail

/// The base of all primitives: their lock, their wait queue, their name and their entry in a dump.
///
/// A primitive defines when an operation can be served, and what it receives. These functions run
/// under the lock and must not call the primitive or code of its user. Its operations derive from
/// synchronizer_operation; their forms are await_operation() and initiate().
/// See docs/operations.md, which builds a latch.
///
/// This class and synchronizer_waiter may change in 0.4.
///
/// Lifetime:      it must outlive its operations, until their tasks have resumed.
/// Thread safety: the public members and the operations are thread-safe.
/// Cost:          a lock and a comparison for an operation that need not wait. No allocation.
class synchronizer {
 public:
  synchronizer(const synchronizer&) = delete;
  synchronizer& operator=(const synchronizer&) = delete;

  /// Returns the name that was passed to the constructor. Thread safety: thread-safe.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  /// Returns true if no operation waits although it could be served, and if the state is
  /// consistent. For tests: false is a fault. Thread safety: thread-safe. Cost: O(waiting
  /// operations).
  [[nodiscard]] bool is_consistent() const noexcept;

  /// Returns the number of operations that wait. Thread safety: thread-safe.
  [[nodiscard]] std::size_t waiting_count() const noexcept {
    const section lock(*this);
    return waiting_.size();
  }

 protected:
  /// Whether an operation that is ready is served before earlier ones that are not.
  enum class order : bool { first_in_first_out, as_ready };

  /// `type`: the word for the primitive in messages, a literal such as "mutex".
  synchronizer(const char* type, order o, std::string name) noexcept
      : order_(o), registration_(this, type, &synchronizer::report), name_(std::move(name)) {}
  /// Ends the process with a message if operations wait.
  virtual ~synchronizer();
  /// Removes the primitive from the list for dumps. The destructor of each primitive begins with
  /// it, because a dump on another thread calls the functions of the primitive.
  void unregister() noexcept {
    if (registered_.exchange(false, std::memory_order_relaxed)) registration_.remove();
  }

  /// Waits of tasks do not add the primitive to the list for dumps, which shows them at the tasks.
  /// Call it in the constructor.
  void omit_waits_of_tasks() noexcept { omits_tasks_ = true; }

  /// Returns true if `w` can be served, ignoring the order.
  [[nodiscard]] virtual bool is_ready(const synchronizer_waiter& w) const noexcept
      LEAT_REQUIRES(mutex_) = 0;
  /// Gives `w` what it requested. Precondition: is_ready(w).
  virtual void grant(synchronizer_waiter& w) noexcept LEAT_REQUIRES(mutex_) = 0;
  /// Returns the outcome of `w`, such as `closed`, if the primitive is closed; otherwise `waiting`.
  [[nodiscard]] virtual wait_outcome outcome_if_closed(const synchronizer_waiter&) const noexcept
      LEAT_REQUIRES(mutex_) {
    return wait_outcome::waiting;
  }
  /// Returns true if the state of the primitive is consistent.
  [[nodiscard]] virtual bool has_consistent_state() const noexcept LEAT_REQUIRES(mutex_) {
    return true;
  }
  /// Returns how many things `w` requests, for messages; 1 if a request is no number.
  [[nodiscard]] virtual std::size_t requested(const synchronizer_waiter& w) const noexcept {
    return w.request();
  }
  /// Appends the state in words, such as " (1 of 8 free)". Errors: std::bad_alloc only.
  virtual void append_state_to(std::string& text) const LEAT_REQUIRES(mutex_) = 0;
  /// Adds to `target` what only this primitive knows, such as who holds it.
  virtual void inspect([[maybe_unused]] const synchronizer_waiter& w,
                       [[maybe_unused]] wait_target& target) const LEAT_REQUIRES(mutex_) {}

  // -- For the primitives.

  using lock_type = detail::biased_section;  ///< `const lock_type lock(mutex_);`

  /// Serves the waiting operations that are ready, in their order. Wakes those on the scheduler of
  /// this thread; wake the result after releasing the lock.
  [[nodiscard]] work_list serve() noexcept LEAT_REQUIRES(mutex_);
  /// Ends all waits with `outcome`. Wakes those on the scheduler of this thread; wake the result
  /// after the lock is released.
  [[nodiscard]] work_list end_all(wait_outcome outcome) noexcept LEAT_REQUIRES(mutex_);
  /// Wakes an operation that has ended if it waits on `here`, the scheduler of this thread, where
  /// it resumes only after the call. Adds all others to `woken`. So most operations are not read
  /// from memory a second time.
  static void wake_later(synchronizer_waiter& w, const scheduler* here, work_list& woken) noexcept {
    if (here && w.get_scheduler() == here) {
      w.wake();
    } else {
      woken.push_back(w);
    }
  }
  static void wake_all(work_list& woken) noexcept {  ///< wakes the result of serve() or end_all()
    while (work_item* const item = woken.pop_front())
      static_cast<synchronizer_waiter*>(item)->wake();
  }

  /// Returns the ID of the task or thread that calls.
  [[nodiscard]] static task_id id_of(caller by) noexcept {
    return by.task ? by.task->id() : waiter::id_of_this_thread();
  }
  /// Returns the time of the current turn, or outside a turn the time of the clock.
  [[nodiscard]] static time_point about_now() noexcept;
  /// Overload for the call of `caller`.
  [[nodiscard]] static time_point about_now(caller by) noexcept {
    return by.task ? by.task->get_scheduler().turn_time() : about_now();
  }

  /// Returns the time on the clock of the waiting operations: a dump may run outside their turns,
  /// and their time may be virtual.
  [[nodiscard]] time_point time_of_waiting() const noexcept LEAT_REQUIRES(mutex_);

  /// Ends the process with a message: "mutex 'index': `what`".
  [[noreturn, gnu::cold]] void abort_misused(const char* what) const noexcept;

  /// Appends "mutex 'index'".
  void append_name_to(std::string& text) const;

  mutable detail::synchronizer_mutex mutex_;  ///< guards the state of the primitive and `waiting_`
  waiter_list<synchronizer_waiter> waiting_ LEAT_GUARDED_BY(mutex_);  ///< the wait queue

 private:
  friend class detail::state_synchronizer;
  friend class synchronizer_waiter;
  template <class Object>
  friend struct synchronizer_operation;

  // For detail::state_synchronizer.
  synchronizer(const char* type, order o, std::string name, detail::state_lock::word number,
               bool may_be_owned) noexcept
      : mutex_(number, may_be_owned),
        order_(o),
        registration_(this, type, &synchronizer::report),
        name_(std::move(name)) {}

  // Holds the lock of any primitive for a scope.
  class LEAT_SCOPED_CAPABILITY section {
   public:
    explicit section(const synchronizer& s) noexcept LEAT_ACQUIRE(s.mutex_)
        : synchronizer_(s), as_owner_(s.mutex_.lock()) {}
    ~section() LEAT_RELEASE() LEAT_NO_ANALYSIS {
      synchronizer_.mutex_.unlock(as_owner_, !synchronizer_.waiting_.empty());
    }
    section(const section&) = delete;
    section& operator=(const section&) = delete;

   private:
    const synchronizer& synchronizer_;
    const bool as_owner_;
  };

  // Starts an operation that could not complete immediately: serves it, or adds it to the waiting
  // ones. Returns true if it ended without a wait.
  bool begin(synchronizer_waiter& w) noexcept;
  // Ends a wait with `cancelled` and wakes it. Returns false if it has already ended; then its
  // object may be gone.
  static bool cancel(synchronizer_waiter& w) noexcept;
  // Like cancel(), but does not wake it, because its coroutine or thread no longer waits.
  static bool abandon(synchronizer_waiter& w) noexcept;

  [[gnu::cold]] void add_to_dumps() noexcept;
  [[nodiscard]] bool can_serve_now(const synchronizer_waiter& w) const noexcept
      LEAT_REQUIRES(mutex_) {
    return (order_ == order::as_ready || waiting_.empty()) && is_ready(w);
  }
  static bool remove(synchronizer_waiter& w, work_list& woken) noexcept;
  void append_to(std::string& text) const;
  void describe_wait(const synchronizer_waiter& w, wait_target& target) const;
  [[noreturn, gnu::cold]] void abort_destroyed_in_use() const noexcept;
  // A detail::live_object::reporter.
  static bool report(const void* object, detail::live_object::access how,
                     detail::object_state& state);

  const order order_;
  bool omits_tasks_ = false;
  detail::live_object registration_;
  std::atomic<bool> registered_{false};  // from the first wait on
  const std::string name_;
};

template <class Object>
bool synchronizer_operation<Object>::begin(synchronizer_waiter& w) noexcept {
  synchronizer& object = w.object_;
  return object.begin(w);
}
template <class Object>
bool synchronizer_operation<Object>::withdraw(synchronizer_waiter& w) noexcept {
  return synchronizer::abandon(w);
}

}  // namespace LEAT
