// Steps, and the saves between them.

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>
#include <utility>

#include "async/scope_registry.hpp"
#include "base/text/seconds_text.hpp"
#include "leat/async/scheduler.hpp"
#include "leat/async/select.hpp"
#include "leat/async/sleep.hpp"
#include "leat/async/task_context.hpp"
#include "leat/base/error.hpp"
#include "train/supervisor/supervisor_state.hpp"

namespace leat {

supervisor::state::state(supervisor& owner) : observer(std::make_shared<element_steps>(owner)) {}

// ------------------------------------------------------------- steps that the body marks by step()

// Waiters for the end of all steps run before a new step begins. An element is a step already.
task<supervisor::step_scope> supervisor::step() {
  if (state_->own_element()) {
    step_scope none(*this);
    none.owner_ = nullptr;
    co_return none;
  }
  if (!std::exchange(state_->body_marks_steps, true) && state_->elements) {
    state_->remove_elements();
    notify_step_end();
  }
  co_await wait_before_step();
  ++state_->steps;
  co_return step_scope(*this);
}

task<void> supervisor::wait_before_step() {
  if (state_->is_stopping()) co_await stop_before_step();
  while (state_->must_hold_steps()) {
    co_await detail::wait_while([p = state_.get()] { return p->must_hold_steps(); },
                                state_->save_ended);
    if (state_->is_stopping()) co_await stop_before_step();
  }
}

void supervisor::end_step(bool broken) noexcept {
  state_->broken = state_->broken || broken;
  --state_->steps;
  if (state_->overdue_steps > 0) --state_->overdue_steps;
  notify_step_end();
}

void supervisor::notify_step_end() noexcept {
  state_->step_ended.set();
  if (state_->in_step()) return;
  state_->all_steps_ended.set();
  state_->body_step_ended.set();
  if (state_->stop_wanted) coord_.request_stop();
  if (state_->stop_pending && state_->running) state_->running->request_stop();
}

// -------------------------------------------------------------------------- elements of for_each()

bool supervisor::element_steps::must_wait(bool in_step) const noexcept {
  if (!owner_ || owner_->state_->body_marks_steps) return false;
  const state& p = *owner_->state_;
  return in_step ? p.is_copying : p.must_hold_steps() || p.is_stopping();
}

bool supervisor::element_steps::must_stop() const noexcept {
  return owner_ && !owner_->state_->body_marks_steps && owner_->state_->is_stopping() &&
         !owner_->state_->own_element();
}

task<void> supervisor::element_steps::wait(bool in_step) {
  state& p = *owner_->state_;
  if (in_step) {
    co_await detail::wait_while([&] { return p.is_copying; }, p.values_copied);
  } else {
    co_await owner_->wait_before_step();
  }
}

bool supervisor::element_steps::is_within_step() const noexcept {
  return owner_ && owner_->state_->own_element();
}

void supervisor::element_steps::begin_step(detail::step_in_progress& s) noexcept {
  const task_context* const caller = scheduler::current_task();
  if (!owner_ || owner_->state_->body_marks_steps || !caller) return;
  s.task = caller->id();
  s.scopes_before = detail::scope_registry::made();
  owner_->state_->add_element(s);
}

void supervisor::element_steps::end_step(detail::step_in_progress& s, bool finished) noexcept {
  if (!owner_ || !s.is_counted) return;
  state& p = *owner_->state_;
  p.broken = p.broken || !finished;
  p.remove_element(s);
  owner_->notify_step_end();
}

void supervisor::state::add_element(detail::step_in_progress& s) noexcept {
  s.is_counted = true;
  s.is_overdue = false;
  s.next = std::exchange(elements, &s);
}

void supervisor::state::remove_element(detail::step_in_progress& s) noexcept {
  detail::step_in_progress** at = &elements;
  while (*at != &s) at = &(*at)->next;
  *at = s.next;
  s.is_counted = false;
}

detail::step_in_progress* supervisor::state::own_element() const noexcept {
  const task_context* const caller = scheduler::current_task();
  if (!caller) return nullptr;
  for (detail::step_in_progress* s = elements; s; s = s->next) {
    if (detail::scope_registry::is_within(*caller, s->task, s->scopes_before)) return s;
  }
  return nullptr;
}

bool supervisor::state::must_hold_steps() const noexcept {
  if (is_copying || !save_pending) return is_copying;
  if (save_gives_way || overdue_steps > 0) return false;
  for (const detail::step_in_progress* s = elements; s; s = s->next) {
    if (s->is_overdue && !s->is_saving) return false;
  }
  return true;
}

bool supervisor::state::must_end_before_save(const detail::step_in_progress* own) const noexcept {
  for (const detail::step_in_progress* s = elements; s; s = s->next) {
    if (s != own && !s->is_saving) return true;
  }
  return steps > 0;
}

// ------------------------------------------------------------------------------------------- saves

void supervisor::require_saver() const {
  if (state_->saver && state_->lock) return;
  throw failure(errc::failed_precondition,
                options_.name + ": checkpoints cannot be saved: " +
                    (save_path_.empty() ? "set logdir and state of the chief"
                                        : "the supervisor is not prepared or has stopped"));
}

task<std::string> supervisor::save() {
  require_saver();
  detail::step_in_progress* const own = state_->own_element();
  if (state_->must_end_before_save(own)) {
    throw failure(errc::failed_precondition,
                  options_.name +
                      ": save() called during a step: call it after the step, or call "
                      "save_between_steps() outside a step");
  }
  if (state_->broken) {
    throw failure(errc::failed_precondition,
                  options_.name + ": checkpoint cannot be saved: a step did not complete");
  }
  co_return co_await save_snapshot(own);
}

task<std::string> supervisor::save_between_steps() {
  require_saver();
  co_return co_await save_snapshot(state_->own_element());
}

// Nothing runs between the end of the last step and the copy of the values. `own`: the element that
// requests the save, and at which the state may be saved.
task<std::string> supervisor::save_snapshot(detail::step_in_progress* own) {
  if (own) {
    own->is_saving = true;
    state_->step_ended.set();  // another save may wait for this element
  }
  std::string path;
  std::exception_ptr error;
  try {
    // Created before the lock is taken, which must not be lost if memory is exhausted.
    task<std::string> saving = save_exclusively(own);
    state_->save_guard = co_await state_->save_mutex.lock();
    path = co_await std::move(saving);
  } catch (...) {
    error = std::current_exception();
  }
  if (own) own->is_saving = false;
  if (error) std::rethrow_exception(error);
  co_return path;
}

void supervisor::warn_about_held_steps(duration limit) {
  if (std::exchange(state_->reported_overdue, true)) return;
  warn("save waited " + detail::seconds_text(limit) +
       " s for the end of a step while other steps waited for the save: the steps continue, "
       "but a step must not wait for another step");
}

// Steps that waited for the save begin for as long as they have waited: if each step waits for the
// next one, they lose at most half of the time.
task<void> supervisor::give_way_to_steps(const detail::step_in_progress* own, duration held) {
  state_->save_gives_way = true;
  const time_point end = deadline_after(scheduler::current()->now(), held);
  while (state_->must_end_before_save(own)) {
    state_->step_ended.reset();
    const auto first = co_await select(state_->step_ended.wait(), sleep_until(end));
    if (first.index() == 1) break;
  }
  state_->save_gives_way = false;
}

// Unlocks the mutex when the checkpoint is written.
task<std::string> supervisor::save_exclusively(const detail::step_in_progress* own) {
  std::string path;
  std::optional<std::int64_t> step;
  std::exception_ptr error;
  try {
    // Waits longer each time: the other steps may end, or a step may wait for them.
    duration limit = std::max<duration>(options_.step_grace, std::chrono::seconds(1));
    while (state_->must_end_before_save(own)) {
      state_->hold_steps();
      state_->step_ended.reset();
      const auto first = co_await select(state_->step_ended.wait(), sleep_for(limit));
      if (first.index() == 0) continue;
      const bool holds = state_->save_ended.waiting_count() > 0;
      state_->release_steps();
      if (holds) {
        warn_about_held_steps(limit);
        co_await give_way_to_steps(own, limit);
      }
      limit += std::min(limit, duration::max() - limit);
    }
    state_->begin_copy();
    step = global_step();
    if (step && *step < 0) {
      throw failure(errc::invalid_argument, options_.name + ": checkpoint cannot be saved: step " +
                                                std::to_string(*step) + " is negative");
    }
    if (state_->broken) {
      if (!std::exchange(state_->reported_broken, true)) {
        warn("step did not complete: no further checkpoints are saved");
      }
    } else if (step) {
      path = co_await state_->saver->save(static_cast<std::uint64_t>(*step));
    } else {
      path = co_await state_->saver->save();
    }
  } catch (...) {
    error = std::current_exception();
  }
  state_->resume_steps();
  const std::exception_ptr flush_error = std::exchange(state_->flush_error, nullptr);
  state_->save_guard.unlock();
  if (error) std::rethrow_exception(error);
  if (path.empty()) co_return path;
  state_->saved_step = step;
  state_->has_saved = true;
  if (options_.on_saved) co_await options_.on_saved(path, step);
  if (flush_error) std::rethrow_exception(flush_error);
  if (step && state_->writer_is_open()) {
    co_await state_->writer->add_session_log(session_log::checkpoint, *step, save_path_, path);
  }
  co_return path;
}

}  // namespace leat
