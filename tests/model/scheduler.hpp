#pragma once

#include "leat/async/scheduler.hpp"
#include "leat/base/detail/parker.hpp"
#include "model/model.hpp"

namespace model {

/// A scheduler with nothing but the library's own ordering: wake() tells whoever posted that the
/// scheduler has to be run, by that thread itself. Threads take turns as they do in an io_context
/// that many of them run.
class passed_scheduler final : public leat::scheduler {
 public:
  explicit passed_scheduler(std::size_t items_per_turn = 100) : items_(items_per_turn) {}

  /// Posts, and runs the scheduler if it was asleep.
  void post_and_run(leat::work_item& item) {
    const unsigned me = rl::thread_index();
    post(item);
    if (!std::exchange(woken_[me], false)) return;
    while (run_ready(items_, 1)) {
    }
  }

  // A turn asks for the time before all else. What this touches stands for the scheduler's timers,
  // which a turn looks at before it takes anything.
  [[nodiscard]] leat::time_point now() const noexcept override {
    turns_.set(turns_.get() + 1);
    return {};
  }
  void work_started() noexcept override {}
  void work_finished() noexcept override {}

 private:
  void wake() noexcept override { woken_[rl::thread_index()] = true; }
  void arm(leat::time_point) noexcept override {}

  const std::size_t items_;
  std::array<bool, 8> woken_{};
  mutable guarded<unsigned> turns_;
};

/// A scheduler that a thread of its own drives, after each wake() until nothing is left to run.
class driven_scheduler final : public leat::scheduler {
 public:
  /// Runs until all work that was announced has ended; something must have been.
  void drive() {
    // The last work ends on this thread, so it sees the zero.
    while (work_.load(std::memory_order_relaxed) != 0) {
      {
        std::unique_lock lock(mutex_);
        condition_.wait(lock, [this] { return woken_; });
        woken_ = false;
      }
      while (run_ready(100)) {
      }
    }
  }

  [[nodiscard]] leat::time_point now() const noexcept override { return {}; }
  void work_started() noexcept override { work_.fetch_add(1, std::memory_order_relaxed); }
  void work_finished() noexcept override { work_.fetch_sub(1, std::memory_order_relaxed); }

 private:
  void wake() noexcept override {
    const std::lock_guard lock(mutex_);
    require(!woken_, "a scheduler was woken twice in one burst");
    woken_ = true;
    condition_.notify_one();
  }
  void arm(leat::time_point) noexcept override {}

  mutex mutex_;
  condition_variable condition_;
  bool woken_ = false;
  std::atomic<unsigned> work_{0};
};

}  // namespace model
