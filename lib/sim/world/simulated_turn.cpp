#include "sim/world/simulated_turn.hpp"

#include <utility>
#include <vector>

#include "leat/base/assert.hpp"
#include "leat/sim/allocation_faults.hpp"

namespace leat::sim {
namespace {

using leat::detail::preemption_hook;

// Stacks are dear to make and every world needs some.
std::vector<std::unique_ptr<fiber>>& idle_fibers() {
  static thread_local std::vector<std::unique_ptr<fiber>> all;
  return all;
}

std::unique_ptr<fiber> take_fiber() {
  const allocation_faults::spared own;
  auto& idle = idle_fibers();
  idle.reserve(idle.size() + 1);  // giving it back must not fail
  if (idle.empty()) return std::make_unique<fiber>();
  auto taken = std::move(idle.back());
  idle.pop_back();
  return taken;
}

}  // namespace

turn::turn(virtual_scheduler& sched) noexcept : handler{&turn::may_preempt}, scheduler_(sched) {}

turn::~turn() { LEAT_ASSERT(!under_way(), "a world was destroyed while a thread is pre-empted"); }

void turn::run(std::size_t item, unsigned place) {
  if (place == 0) {
    scheduler_.run_one(item);
    return;
  }
  fiber_ = take_fiber();
  item_ = item;
  left_ = place;
  outer_ = preemption_hook::install(this);
  fiber_->start(
      [](void* self) {
        auto& t = *static_cast<turn*>(self);
        t.scheduler_.run_one(t.item_);
      },
      this);
  finish();
}

void turn::go_on(unsigned place) noexcept {
  left_ = place;
  outer_ = preemption_hook::install(this);
  scheduler_.resume_turn();
  fiber_->take_up();
  finish();
}

void turn::may_preempt(handler& l) noexcept {
  auto& self = static_cast<turn&>(l);
  if (self.left_ == 0 || --self.left_ > 0) return;
  self.scheduler_.suspend_turn();
  self.fiber_->put_aside();
}

// Back on the stack of who gave the turn: the item has ended or was put aside.
void turn::finish() noexcept {
  preemption_hook::install(outer_);
  if (!fiber_->busy()) idle_fibers().push_back(std::move(fiber_));
}

}  // namespace leat::sim
