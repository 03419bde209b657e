#include "train/supervisor/step_gate.hpp"

#include <algorithm>
#include <utility>

#include "async/internal/scope_registry.hpp"
#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/select.hpp"
#include "leat/async/sleep.hpp"
#include "leat/async/task_context.hpp"
#include "train/supervisor/wait_while.hpp"

namespace LEAT::detail {

// --------------------------------------------------------------------------------- steps

void step_gate::mark_steps() noexcept {
  if (std::exchange(marks_steps_, true) || !elements_) return;
  remove_elements();
  notify_end();
}

void step_gate::end_marked(bool finished) noexcept {
  incomplete_ = incomplete_ || !finished;
  --marked_;
  // Marked steps have no identity, so the first ones to end count as the overdue ones.
  if (overdue_ > 0) --overdue_;
  notify_end();
}

// A task that the step spawns belongs to the step as well. The scopes of its tasks are made later
// than the step begins, while an older scope of the same task, such as the group of the body, is
// not part of it.
void step_gate::begin_element(step_in_progress& s) noexcept {
  const task_context* const caller = scheduler::current_task();
  if (marks_steps_ || !caller) return;
  s.task = caller->id();
  s.scopes_before = scope_registry::made();
  s.is_counted = true;
  s.is_overdue = false;
  s.next = std::exchange(elements_, &s);
}

void step_gate::end_element(step_in_progress& s, bool finished) noexcept {
  if (!s.is_counted) return;
  incomplete_ = incomplete_ || !finished;
  remove_element(s);
  notify_end();
}

void step_gate::remove_element(step_in_progress& s) noexcept {
  step_in_progress** at = &elements_;
  while (*at != &s) at = &(*at)->next;
  *at = s.next;
  s.is_counted = false;
}

void step_gate::remove_elements() noexcept {
  while (elements_) remove_element(*elements_);
}

void step_gate::begin_run() noexcept {
  end_run();
  incomplete_ = false;
}

void step_gate::end_run() noexcept {
  remove_elements();
  overdue_ = 0;
  marks_steps_ = false;
  step_ended_.set();
}

// The event comes first: a save that waits for the last step copies the values before a task that
// the second call resumes can change them.
void step_gate::notify_end() noexcept {
  step_ended_.set();
  if (!in_step()) none_in_progress_();
}

step_in_progress* step_gate::own_element() const noexcept {
  const task_context* const caller = scheduler::current_task();
  if (!caller) return nullptr;
  for (step_in_progress* s = elements_; s; s = s->next) {
    if (scope_registry::is_within(*caller, s->task, s->scopes_before)) return s;
  }
  return nullptr;
}

// --------------------------------------------------------------------------------- the hold

bool step_gate::is_closed() const noexcept {
  if (hold_ != hold::draining) return hold_ == hold::copying;
  if (overdue_ > 0) return false;
  for (const step_in_progress* s = elements_; s; s = s->next) {
    if (s->is_overdue && !s->is_saving) return false;
  }
  return true;
}

task<void> step_gate::wait_until_open() {
  return wait_while([this] { return is_closed(); }, released_);
}

task<void> step_gate::wait_for_copy() {
  return wait_while([this] { return is_copying(); }, released_);
}

bool step_gate::blocks_save(const step_in_progress* own) const noexcept {
  for (const step_in_progress* s = elements_; s; s = s->next) {
    if (s != own && !s->is_saving) return true;
  }
  return marked_ > 0;
}

void step_gate::begin_save_within(step_in_progress& own) noexcept {
  own.is_saving = true;
  step_ended_.set();  // another save may wait for this element
}

// A step may wait for another one that the save holds, for example for an element of a second
// pipeline. Nothing can tell this from a step that is slow, so there is a time limit. When it has
// passed, the steps in progress count as overdue, and the others begin. If no step waits, nothing
// is gained by giving way: only the overdue mark remains, for a step that comes later.
task<void> step_gate::drain(const step_in_progress* own, duration hold_limit,
                            const std::function<void(duration)>& on_overdue) {
  while (blocks_save(own)) {
    // No end of a step is lost: nothing else runs between the condition and the wait.
    hold_ = hold::draining;
    step_ended_.reset();
    const auto first = co_await select(step_ended_.wait(), sleep_for(hold_limit));
    if (first.index() == 0) continue;
    const bool holds_steps = released_.waiting_count() > 0;
    mark_overdue();
    if (holds_steps) {
      on_overdue(hold_limit);
      co_await give_way(own, hold_limit);
    }
    hold_limit += std::min(hold_limit, duration::max() - hold_limit);
  }
  hold_ = hold::copying;
}

void step_gate::mark_overdue() noexcept {
  for (step_in_progress* s = elements_; s; s = s->next) s->is_overdue = true;
  overdue_ = marked_;
  released_.set();
}

task<void> step_gate::give_way(const step_in_progress* own, duration hold_limit) {
  hold_ = hold::giving_way;
  const time_point end = deadline_after(scheduler::current()->now(), hold_limit);
  while (blocks_save(own)) {
    step_ended_.reset();
    const auto first = co_await select(step_ended_.wait(), sleep_until(end));
    if (first.index() == 1) break;
  }
  hold_ = hold::draining;
}

void step_gate::release() noexcept {
  hold_ = hold::none;
  released_.set();
}

}  // namespace LEAT::detail
