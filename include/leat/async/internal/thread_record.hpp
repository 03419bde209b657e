#pragma once

#include <stop_token>
#include <string>

#include "leat/async/task_id.hpp"
#include "leat/async/wait_operation.hpp"
#include "leat/base/clock.hpp"

namespace LEAT::detail {

/// The record of a thread of a coordinator: its identity and wait, for dumps, and the stop that
/// ends its waits.
///
/// Only the thread itself records the beginning and the end of a blocking operation.
/// Thread safety: thread-compatible; the members that thread_registry reads are thread-safe.
class thread_record {
 public:
  /// `id`: counted like a task of the scope that waits for the thread. `started_elsewhere`: the
  /// thread does not use this record, and its waits are not known.
  thread_record(task_id id, std::string name, bool started_elsewhere);
  thread_record(const thread_record&) = delete;
  thread_record& operator=(const thread_record&) = delete;
  ~thread_record();

  [[nodiscard]] task_id id() const noexcept { return id_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] bool started_elsewhere() const noexcept { return started_elsewhere_; }

  /// Returns the operation that blocks the thread, or null. Precondition: the caller holds the lock
  /// of the registry.
  [[nodiscard]] const wait_operation* blocked_on() const noexcept { return blocked_on_; }
  [[nodiscard]] time_point since() const noexcept { return since_; }

  /// Assigns the record to the calling thread for the lifetime of this object; `stop` is the token
  /// of the scope.
  class current {
   public:
    current(thread_record& record, std::stop_token stop) noexcept;
    current(const current&) = delete;
    current& operator=(const current&) = delete;
    ~current();
  };

  /// Records during its lifetime that the calling thread blocks on `w`. Cost: one test for a thread
  /// without a record.
  class blocked {
   public:
    explicit blocked(const wait_operation& w) noexcept;
    blocked(const blocked&) = delete;
    blocked& operator=(const blocked&) = delete;
    ~blocked();
  };

  /// Returns true if the scope that waits for the calling thread has requested a stop.
  [[nodiscard]] static bool stop_requested() noexcept {
    if (!current_) [[likely]] {
      return false;
    }
    return current_->stop_.stop_requested();
  }
  /// Returns the token of that scope, or one without a state if the thread has no record.
  [[nodiscard]] static std::stop_token stop_token() noexcept;

  /// Returns the id of the calling thread, or an empty one if it has no record.
  [[nodiscard]] static task_id current_id() noexcept;

  /// Returns current_id() if the thread blocks on `w`, or an empty id otherwise.
  [[nodiscard]] static task_id id_if_blocked_on(const wait_operation& w) noexcept;

 private:
  friend class thread_registry;

  const task_id id_;
  const std::string name_;
  const bool started_elsewhere_;
  static constinit thread_local thread_record* current_
#if defined(__GNUC__)
      __attribute__((tls_model("initial-exec")))
#endif
      ;

  std::stop_token stop_;
  const wait_operation* blocked_on_ = nullptr;
  time_point since_{};
  thread_record* previous_ = nullptr;
  thread_record* following_ = nullptr;
};

}  // namespace LEAT::detail
