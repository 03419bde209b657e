#pragma once

#include <atomic>
#include <cstddef>
#include <iosfwd>
#include <string>

#include "async/blocking/internal/worker_threads.hpp"
#include "leat/async/blocking/blocking_pool.hpp"
#include "leat/async/blocking/detail/blocking_call.hpp"
#include "leat/async/dump/internal/live_object.hpp"

namespace LEAT::detail {

/// The threads of a blocking_pool in one process, and the calls that wait for one of them.
///
/// It exists until its pool and all its calls have released it and its threads have ended.
///
/// Thread safety: thread-safe.
class blocking_threads final : public worker_threads {
 public:
  /// Errors: std::bad_alloc.
  explicit blocking_threads(const blocking_pool_options& options);

  /// Begins the use by a call, which ends it by release().
  void add_user() noexcept { users_.fetch_add(1, std::memory_order_relaxed); }
  /// Ends the use by a pool or a call. The threads may be gone afterwards.
  void release() noexcept;

  /// Passes a call to a thread. Returns false, without effect, if there is no thread and the system
  /// starts none.
  [[nodiscard]] bool submit(blocking_call& call) noexcept;

  /// Takes back a call that waits for a thread. Returns false if a thread has taken it.
  [[nodiscard]] bool withdraw(blocking_call& call) noexcept;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] blocking_pool_statistics statistics() const;
  void describe(const blocking_call& call, std::ostream& out) const;

 private:
  ~blocking_threads() override { registration_.remove(); }

  [[nodiscard]] bool has_items() const noexcept override { return first_ != nullptr; }
  void execute_next(lock_type& lock) noexcept override;
  void remove(blocking_call& call) noexcept;

  // A live_object::reporter.
  static bool report(const void* object, live_object::access how, object_state& state);

  const std::string name_;
  std::atomic<std::size_t> users_{1};
  // The calls that wait, the oldest first.
  blocking_call* first_ = nullptr;
  blocking_call* last_ = nullptr;
  std::size_t waiting_ = 0;
  live_object registration_{this, "blocking pool", &report};
};

}  // namespace LEAT::detail
