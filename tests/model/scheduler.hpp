#pragma once

#include <source_location>
#include <utility>

#include "leat/async/scheduler/scheduler_driver.hpp"
#include "leat/async/task.hpp"
#include "leat/async/task_group.hpp"
#include "leat/base/internal/parker.hpp"
#include "leat/sync/synchronizer.hpp"
#include "model/model.hpp"

namespace model {

/// A scheduler that adds no ordering of its own. The thread whose post() called wake() runs it, so
/// threads take turns as in an io_context that several threads run.
class passed_scheduler final : public leat::scheduler_driver {
 public:
  explicit passed_scheduler(std::size_t items_per_turn = 100) : items_(items_per_turn) {}

  /// Posts an item, and runs the scheduler if it was asleep.
  void post_and_run(leat::work_item& item) {
    const unsigned me = rl::thread_index();
    post(item);
    if (!std::exchange(woken_[me], false)) return;
    while (run_ready(items_, 1)) {
    }
  }

  // A turn asks for the time first. The write to `turns_` stands for the scheduler's timers, which
  // a turn reads before it takes an item.
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

/// A scheduler that one thread drives: after each wake() it runs until no item is left.
class driven_scheduler final : public leat::scheduler_driver {
 public:
  /// Runs until all announced work has ended. Requires that work was announced before.
  void drive() {
    // The last work ends on this thread, so the thread reads zero.
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

/// A scheduler that a thread runs turn by turn, and then ends with its tasks.
class ending_scheduler final : public leat::scheduler_driver {
 public:
  void turn() {
    while (run_ready(100)) {
    }
  }
  void end() { end_tasks("scheduler"); }

  [[nodiscard]] leat::time_point now() const noexcept override { return {}; }
  void work_started() noexcept override {}
  void work_finished() noexcept override {}

 private:
  void wake() noexcept override { wakes_.fetch_add(1, std::memory_order_relaxed); }
  void arm(leat::time_point) noexcept override {}

  std::atomic<unsigned> wakes_{0};
};

/// A program whose first thread ends a scheduler with one task, before or after a turn. The second
/// one ends the wait of the task, and the third one stops it.
class ending_program : public program {
 protected:
  /// Starts the task, which waits afterwards.
  void start(leat::task<void> t) {
    group_.spawn_on(*scheduler_, std::move(t), "task", std::source_location::current());
    scheduler_->turn();
  }
  void require_ended() const {
    require(group_.live_tasks() == 0, "a task has outlived its scheduler");
  }
  virtual void end_wait() = 0;

 private:
  void thread(unsigned index) final {
    if (index == 0) {
      if (turn_first_) scheduler_->turn();
      scheduler_->end();
      scheduler_.reset();
    } else if (index == 1) {
      end_wait();
    } else {
      group_.request_stop();
    }
  }

  const bool turn_first_ = rl::rand(2) == 1;
  leat::task_group group_{"group"};
  std::unique_ptr<ending_scheduler> scheduler_ = std::make_unique<ending_scheduler>();
};

/// Begins half of the schedules as if an operation had waited on the primitive before. The first
/// wait takes a longer path.
inline void may_have_waited(leat::synchronizer& s) {
  if (rl::rand(2) == 1) s.registered_.store(true, std::memory_order_relaxed);
}

/// A program whose first thread drives a scheduler with tasks.
class driven_program : public program {
 protected:
  void spawn(leat::task<void> t, const char* name = "task") {
    group_.spawn_on(scheduler_, std::move(t), name, std::source_location::current());
  }
  void require_ended() const { require(group_.live_tasks() == 0, "a task has not ended"); }
  /// Runs one of the other threads, which begin at 1.
  virtual void other_thread(unsigned index) = 0;

  driven_scheduler scheduler_;
  leat::task_group group_;

 private:
  void thread(unsigned index) final { index == 0 ? scheduler_.drive() : other_thread(index); }
};

}  // namespace model
