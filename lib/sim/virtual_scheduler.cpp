#include "leat/sim/virtual_scheduler.hpp"

#include <algorithm>
#include <cstdlib>

#include "async/internal/ending_together.hpp"
#include "async/internal/live_tasks_text.hpp"
#include "async/internal/scope_registry.hpp"
#include "base/internal/standard_error.hpp"
#include "leat/base/internal/assert.hpp"

namespace LEAT::sim {
namespace {

// Tasks that still run after a stop request and this many items are not going to finish.
constexpr std::size_t max_unwind_items = 1'000'000;

}  // namespace

virtual_scheduler::virtual_scheduler(simulated_process* process)
    : process_(process ? *process : own_process_) {
  set_service<process_environment>(&process_);
  set_service<leat::detail::simulated_asio_context>(&asio_);
}

virtual_scheduler::~virtual_scheduler() {
  return_pool();
  answer_dump_queries();
}

// ready() moves all ready items from the list of the scheduler to `pool_`, so that run_one() can
// put a single one back and run it: the list is empty in between. Items that become ready later are
// in the list until the next ready(). Whatever needs all items in order first calls return_pool(),
// which puts the pool back before them.
std::size_t virtual_scheduler::ready() {
  run_ready(0);  // due timers add to what is ready
  work_list& items = ready_items();
  while (!items.empty()) {
    if (pool_.size() == pool_.capacity()) pool_.reserve(2 * pool_.size() + 8);  // may fail; then
    pool_.push_back(items.pop_front());                                         // none is lost
  }
  return pool_.size();
}

// Holds back all ready items except the chosen one.
void virtual_scheduler::run_one(std::size_t index) {
  LEAT_ASSERT(index < pool_.size(), "index of the chosen item is out of range");
  const auto chosen = pool_.begin() + static_cast<std::ptrdiff_t>(index);
  ready_items().push_back(**chosen);
  pool_.erase(chosen);
  run_ready(1);
  asio_.poll();
}

std::string virtual_scheduler::describe(std::size_t index) const {
  return leat::detail::to_text(*pool_[index]);
}

std::size_t virtual_scheduler::due_timers() const noexcept {
  if (next_event() > now_) return 0;
  return timers().first_since(first_order_now_) ? 2 : 1;
}

void virtual_scheduler::expire_timer(std::size_t index) {
  LEAT_ASSERT(index < due_timers(), "index of the chosen timer is out of range");
  if (index > 0) timers().put_first(*timers().first_since(first_order_now_));
  set_turn_timers(1);
  run_ready(0);
  hold_timers();
}

std::string virtual_scheduler::describe_timer(std::size_t index) const {
  return leat::detail::to_text(index > 0 ? *timers().first_since(first_order_now_)
                                         : timers().first());
}

bool virtual_scheduler::run_now(std::size_t max_items) {
  return_pool();
  const bool more = run_ready(max_items);
  asio_.poll();
  return more || has_new_items();
}

// Puts the items that were held back for a decision before later ones.
void virtual_scheduler::return_pool() noexcept {
  if (pool_.empty()) return;
  work_list& items = ready_items();
  work_list later = std::move(items);
  for (work_item* item : pool_) items.push_back(*item);
  items.append(later);
  pool_.clear();
}

void virtual_scheduler::advance_to(time_point t) noexcept {
  if (t <= now_) return;
  now_ = t;
  first_order_now_ = timers().next_order();
}

// Asio may have completed an operation of a task that ends.
bool virtual_scheduler::complete_services() noexcept {
  asio_.poll();
  return true;
}

void virtual_scheduler::end_process(std::span<virtual_scheduler* const> all) {
  const std::vector<scheduler_driver*> drivers(all.begin(), all.end());
  for (virtual_scheduler* const s : all) s->return_pool();
  {
    const leat::detail::ending_together together(drivers);
    all.front()->end_tasks("process");
    for (virtual_scheduler* const s : all) {
      if (s->started_tasks() > 0) s->end_pinned_tasks();
    }
  }
  for (virtual_scheduler* const s : all) {
    s->pool_.clear();
    if (s->live_tasks() == 0) continue;
    leat::detail::print_stderr(
        "leat: a simulated process was terminated while code outside leat uses its tasks: %s",
        s->describe_live_tasks().c_str());
    std::abort();
  }
}

void virtual_scheduler::run_until_idle() {
  for (;;) {
    while (run_now()) {
    }
    if (next_event() == no_deadline) return;
    advance_to(next_event());
  }
}

void virtual_scheduler::run_to_end() {
  while (live_tasks() > 0) {
    while (run_now()) {
    }
    if (live_tasks() == 0) break;
    if (next_event() == no_deadline) {
      const std::string dump = describe_live_tasks();
      unwind(dump);
      throw deadlock("deadlock: nothing can run and " + dump);
    }
    advance_to(next_event());
  }
  while (run_now()) {  // items that the last task has left, such as a stop notification
  }
}

std::string virtual_scheduler::describe_live_tasks() const {
  return leat::detail::describe_live_tasks(live_tasks(), {this});
}

// Ends the tasks that cannot continue, so that the process can run the next test.
void virtual_scheduler::unwind(const std::string& dump) {
  std::size_t left = max_unwind_items;
  const auto run = [&] {
    while (left > 0 && live_tasks() > 0) {
      const std::size_t count = std::min<std::size_t>(left, 1000);
      left -= count;
      if (run_now(count)) continue;
      if (next_event() == no_deadline) return;
      advance_to(next_event());
    }
  };
  // Each round reaches the owners that were created during the last round.
  while (live_tasks() > 0 && leat::detail::scope_registry::stop_scopes_on(*this)) run();
  if (live_tasks() == 0) return;
  leat::detail::print_stderr("leat: deadlock that a stop request did not end: %s", dump.c_str());
  std::abort();
}

}  // namespace LEAT::sim
