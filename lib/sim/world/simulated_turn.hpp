#pragma once

#include <cstddef>
#include <memory>

#include "leat/base/detail/preemption_hook.hpp"
#include "leat/sim/virtual_scheduler.hpp"
#include "sim/world/fiber.hpp"

namespace leat::sim {

/// A simulated thread's turn: one item of its scheduler, which may be put aside in its midst.
///
/// Thread safety: none.
class simulated_turn : private leat::detail::preemption_hook::handler {
 public:
  explicit simulated_turn(virtual_scheduler& sched) noexcept;
  simulated_turn(const simulated_turn&) = delete;
  simulated_turn& operator=(const simulated_turn&) = delete;
  ~simulated_turn();

  /// Runs an item. It is pre-empted at the `point`-th of the places where that is possible, counted
  /// from 1; 0: at none.
  void run(std::size_t item, unsigned point);

  /// Goes on with the item that was put aside, to its end or to the next such place.
  void resume(unsigned point) noexcept;

  /// True while an item is put aside.
  [[nodiscard]] bool is_suspended() const noexcept { return fiber_ != nullptr; }

 private:
  static void preempt_if_due(handler& self) noexcept;
  void finish() noexcept;

  virtual_scheduler& scheduler_;
  std::unique_ptr<fiber> fiber_;  // where the item runs, if it may be put aside
  handler* outer_ = nullptr;      // of who gave the turn
  std::size_t item_ = 0;
  unsigned left_ = 0;  // places to pass, the last one not; 0: all
};

}  // namespace leat::sim
