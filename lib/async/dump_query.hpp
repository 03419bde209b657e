#pragma once

#include <utility>

#include "leat/async/scheduler/scheduler.hpp"

namespace LEAT::detail {

/// Returns true if `item` is the query of a dump. Any thread may answer it after the scheduler has
/// stopped running.
[[nodiscard]] bool is_dump_query(const work_item& item) noexcept;

/// Keeps a scheduler alive for its own lifetime; see scheduler::add_hold().
class scheduler_hold {
 public:
  explicit scheduler_hold(scheduler& s) noexcept : scheduler_(&s) { s.add_hold(); }
  scheduler_hold(scheduler_hold&& other) noexcept
      : scheduler_(std::exchange(other.scheduler_, nullptr)) {}
  scheduler_hold& operator=(scheduler_hold&&) = delete;
  ~scheduler_hold() {
    if (scheduler_) scheduler_->remove_hold();
  }
  [[nodiscard]] scheduler& get() const noexcept { return *scheduler_; }

 private:
  scheduler* scheduler_;
};

}  // namespace LEAT::detail
