#pragma once

#include <chrono>
#include <cstddef>
#include <set>

#include "leat/async/loop/block_on.hpp"
#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/task.hpp"
#include "leat/async/task_group.hpp"
#include "leat/async/this_task.hpp"

namespace leat_test {

/// Counts how often a task could run that is always ready.
class ready_task {
 public:
  [[nodiscard]] std::size_t runs() const noexcept { return runs_; }

  /// Runs the task until `body`, a coroutine without parameters, has ended.
  template <class Body>
  void run_during(Body body) {
    leat::block_on([](ready_task& self, Body& during) -> leat::task<> {
      leat::task_group group("beside a ready task");
      bool done = false;
      group.spawn([](std::size_t& runs, const bool& ended) -> leat::task<> {
        while (!ended) {
          ++runs;
          co_await leat::this_task::yield();
        }
      }(self.runs_, done));
      co_await during();
      done = true;
      co_await group.join();
    }(*this, body));
  }

 private:
  std::size_t runs_ = 0;
};

/// Counts the turns of a scheduler in which a function was called that computes for a millisecond.
class slow_call {
 public:
  void operator()() {
    turns_.insert(leat::scheduler::current()->turn_number());
    ++calls_;
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
    while (std::chrono::steady_clock::now() < end) {
    }
  }
  [[nodiscard]] std::size_t calls() const noexcept { return calls_; }
  [[nodiscard]] std::size_t turns() const noexcept { return turns_.size(); }

 private:
  std::set<std::size_t> turns_;
  std::size_t calls_ = 0;
};

}  // namespace leat_test
