#pragma once

#include <atomic>
#include <utility>

#include "leat/core/scheduler.hpp"

namespace leat::detail {

/// True for the question of a dump, which any thread may answer once the scheduler runs no more.
[[nodiscard]] bool is_inquiry(const work_item& item) noexcept;

/// Keeps a scheduler usable for a thread that asks it about its tasks: its driver stays in its
/// loop, and its destructor waits. Make it while a task of the scheduler cannot end.
class scheduler_hold {
 public:
  explicit scheduler_hold(scheduler& s) noexcept : scheduler_(&s) {
    s.holds_.fetch_add(1, std::memory_order_relaxed);  // a live task keeps the scheduler meanwhile
    s.work_started();
  }
  scheduler_hold(scheduler_hold&& other) noexcept
      : scheduler_(std::exchange(other.scheduler_, nullptr)) {}
  scheduler_hold& operator=(scheduler_hold&&) = delete;
  ~scheduler_hold() {
    if (!scheduler_) return;
    scheduler_->work_finished();
    // The last access. release: see scheduler::end_inquiries().
    scheduler_->holds_.fetch_sub(1, std::memory_order_release);
  }
  [[nodiscard]] scheduler& get() const noexcept { return *scheduler_; }

 private:
  scheduler* scheduler_;
};

}  // namespace leat::detail
