#pragma once

#include <cstddef>
#include <memory>

#include "leat/base/internal/preemption_hook.hpp"
#include "leat/sim/virtual_scheduler.hpp"
#include "sim/world/fiber.hpp"

namespace LEAT::sim {

/// A simulated thread's turn: one item of its scheduler, which may be suspended in the middle.
///
/// Thread safety: none.
class simulated_turn : private leat::detail::preemption_hook::handler {
 public:
  explicit simulated_turn(virtual_scheduler& sched) noexcept;
  simulated_turn(const simulated_turn&) = delete;
  simulated_turn& operator=(const simulated_turn&) = delete;
  ~simulated_turn();

  /// Runs an item. It is pre-empted at the `point`-th possible preemption point, counted from 1; 0:
  /// it is not pre-empted.
  void run(std::size_t item, unsigned point);

  /// Resumes the suspended item, which runs to its end or to the preemption point `point`.
  void resume(unsigned point) noexcept;

  /// Returns true while an item is suspended.
  [[nodiscard]] bool is_suspended() const noexcept { return fiber_ != nullptr; }

 private:
  static void preempt_if_due(handler& self) noexcept;
  void finish() noexcept;

  virtual_scheduler& scheduler_;
  std::unique_ptr<fiber> fiber_;  // on which the item runs, if it may be suspended
  handler* outer_ = nullptr;      // the handler of the caller
  std::size_t item_ = 0;
  unsigned left_ = 0;  // preemption points up to the one to stop at; 0: do not stop
};

}  // namespace LEAT::sim
