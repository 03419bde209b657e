#include "sim/world/simulated_turn.hpp"

#include <cstddef>
#include <utility>
#include <vector>

#include "leat/base/internal/assert.hpp"
#include "leat/sim/allocation_faults.hpp"

namespace LEAT::sim {
namespace {

using leat::detail::preemption_hook;

// Stacks are expensive to create, and every world needs some.
struct fiber_pool {
  std::vector<std::unique_ptr<fiber>> idle;
  std::size_t created = 0;
};

fiber_pool& this_pool() {
  static thread_local fiber_pool pool;
  return pool;
}

std::unique_ptr<fiber> take_fiber() {
  const allocation_faults::without_faults own;
  fiber_pool& pool = this_pool();
  if (pool.idle.empty()) {
    pool.idle.reserve(pool.created + 1);  // returning them must not allocate
    auto fresh = std::make_unique<fiber>();
    ++pool.created;
    return fresh;
  }
  auto taken = std::move(pool.idle.back());
  pool.idle.pop_back();
  return taken;
}

}  // namespace

simulated_turn::simulated_turn(virtual_scheduler& sched) noexcept
    : handler{&simulated_turn::preempt_if_due}, scheduler_(sched) {}

simulated_turn::~simulated_turn() {
  LEAT_ASSERT(!is_suspended(), "world destroyed while a thread is pre-empted");
}

void simulated_turn::run(std::size_t item, unsigned point) {
  if (point == 0) {
    scheduler_.run_one(item);
    return;
  }
  fiber_ = take_fiber();
  item_ = item;
  left_ = point;
  outer_ = preemption_hook::install(this);
  fiber_->start(
      [](void* self) {
        auto& t = *static_cast<simulated_turn*>(self);
        t.scheduler_.run_one(t.item_);
      },
      this);
  finish();
}

void simulated_turn::resume(unsigned point) noexcept {
  left_ = point;
  outer_ = preemption_hook::install(this);
  scheduler_.resume_turn();
  fiber_->resume();
  finish();
}

// Runs on the stack of the fiber, at each preemption point of the item. After a preemption `left_`
// is 0, and the item reaches its end unless resume() sets another point.
void simulated_turn::preempt_if_due(handler& l) noexcept {
  auto& self = static_cast<simulated_turn&>(l);
  if (self.left_ == 0 || --self.left_ > 0) return;
  self.scheduler_.suspend_turn();
  self.fiber_->suspend();
}

// Runs on the stack of the caller of the turn: the item is finished or suspended.
void simulated_turn::finish() noexcept {
  preemption_hook::install(outer_);
  if (!fiber_->busy()) this_pool().idle.push_back(std::move(fiber_));
}

}  // namespace LEAT::sim
