#pragma once

#include <stop_token>
#include <string>

#include "leat/async/task_id.hpp"
#include "leat/async/wait_operation.hpp"
#include "leat/base/clock.hpp"

namespace leat::detail {

/// A record of a thread of a coordinator: what a dump can tell of it, and whose stop ends its
/// waits.
///
/// The thread itself says when it begins and ends to block; nobody else is asked.
/// Thread safety: distinct-safe, except for what thread_registry reads.
class thread_record {
 public:
  /// `id`: counted like a task of the scope that waits for the thread. `started_elsewhere`: the
  /// thread does not use this record, and says nothing.
  thread_record(task_id id, std::string name, bool started_elsewhere);
  thread_record(const thread_record&) = delete;
  thread_record& operator=(const thread_record&) = delete;
  ~thread_record();

  [[nodiscard]] task_id id() const noexcept { return id_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] bool started_elsewhere() const noexcept { return started_elsewhere_; }

  /// For a holder of the registry's lock: the operation that blocks the thread; null: none.
  [[nodiscard]] const wait_operation* blocked_on() const noexcept { return blocked_on_; }
  [[nodiscard]] time_point since() const noexcept { return since_; }

  /// Makes the calling thread the one of this record, as long as it lives; `stop` is that of the
  /// scope.
  class current {
   public:
    current(thread_record& record, std::stop_token stop) noexcept;
    current(const current&) = delete;
    current& operator=(const current&) = delete;
    ~current();
  };

  /// Says that the calling thread blocks on `w`, as long as it lives. Costs a thread without a
  /// record one test.
  class blocked {
   public:
    explicit blocked(const wait_operation& w) noexcept;
    blocked(const blocked&) = delete;
    blocked& operator=(const blocked&) = delete;
    ~blocked();
  };

  /// True: the scope that waits for the calling thread has asked it to stop.
  [[nodiscard]] static bool stop_requested() noexcept {
    if (!current_) [[likely]] {
      return false;
    }
    return current_->stop_.stop_requested();
  }
  /// The token of that scope; one without a state for a thread without a record.
  [[nodiscard]] static std::stop_token stop_token() noexcept;

  /// The calling thread's number; none for a thread without a record.
  [[nodiscard]] static task_id current_id() noexcept;

  /// The same when it blocks on `w`, else none.
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

}  // namespace leat::detail
