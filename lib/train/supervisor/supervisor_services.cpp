// Steps, saves, services and summaries: what runs between the start and the end of a supervisor.

#include <exception>
#include <string>
#include <utility>

#include "leat/async/scheduler/scheduler.hpp"
#include "leat/base/error.hpp"
#include "leat/coordination/looper.hpp"
#include "leat/train/summary/add_fullness.hpp"
#include "train/supervisor/supervisor_state.hpp"

namespace LEAT {

// ------------------------------------------------------------------------------------------- steps

bool supervisor::stopped() const noexcept { return state_->stop.has_stopped_run(); }

void supervisor::request_stop(std::exception_ptr error) { coord_.request_stop(std::move(error)); }

void supervisor::request_stop_after_step() noexcept {
  state_->stop.request_after_step(!state_->is_idle() && state_->saves.is_allowed());
}

// An element is a step already.
task<supervisor::step_scope> supervisor::step() {
  if (state_->steps.own_element()) {
    step_scope none(*this);
    none.owner_ = nullptr;
    co_return none;
  }
  state_->steps.mark_steps();
  co_await state_->stop.wait_before_step();
  state_->steps.begin_marked();
  co_return step_scope(*this);
}

void supervisor::end_step(bool incomplete) noexcept { state_->steps.end_marked(!incomplete); }

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
  detail::step_in_progress* const own = state_->steps.own_element();
  if (state_->steps.blocks_save(own)) {
    throw failure(errc::failed_precondition,
                  options_.name +
                      ": save() called during a step: call it after the step, or call "
                      "save_between_steps() outside a step");
  }
  if (state_->steps.has_incomplete_step()) {
    throw failure(errc::failed_precondition,
                  options_.name + ": checkpoint cannot be saved: a step did not complete");
  }
  co_return co_await save_snapshot(own);
}

task<std::string> supervisor::save_between_steps() {
  require_saver();
  co_return co_await save_snapshot(state_->steps.own_element());
}

// `own`: the element that requests the save, at which the state may be saved, or null. It counts as
// waiting for a save until on_saved has returned.
task<std::string> supervisor::save_snapshot(detail::step_in_progress* own) {
  if (own) state_->steps.begin_save_within(*own);
  std::string path;
  std::exception_ptr error;
  try {
    path = co_await save_and_report(own);
  } catch (...) {
    error = std::current_exception();
  }
  if (own) own->is_saving = false;
  if (error) std::rethrow_exception(error);
  co_return path;
}

task<std::string> supervisor::save_and_report(const detail::step_in_progress* own) {
  std::string path;
  std::optional<std::int64_t> step;
  std::exception_ptr flush_error;
  co_await state_->saves.run(own, write_checkpoint(path, step, flush_error));
  if (path.empty()) co_return path;
  state_->saves.record(step, false);
  if (options_.on_saved) co_await options_.on_saved(path, step);
  if (flush_error) std::rethrow_exception(flush_error);
  if (step && state_->writer_is_open()) {
    co_await state_->writer->add_session_log(session_log::checkpoint, *step, save_path_, path);
  }
  co_return path;
}

// Awaited by the gate of saves. The step and the values belong together: nothing waits between
// them. If a step was not completed, writes nothing and leaves the path empty.
task<void> supervisor::write_checkpoint(std::string& path, std::optional<std::int64_t>& step,
                                        std::exception_ptr& flush_error) {
  step = global_step();
  if (step && *step < 0) {
    throw failure(errc::invalid_argument, options_.name + ": checkpoint cannot be saved: step " +
                                              std::to_string(*step) + " is negative");
  }
  if (state_->steps.has_incomplete_step()) {
    if (!std::exchange(state_->reported_incomplete, true)) {
      warn("step did not complete: no further checkpoints are saved");
    }
    co_return;
  }
  state_->flush_error = nullptr;
  if (step) {
    path = co_await state_->saver->save(static_cast<std::uint64_t>(*step));
  } else {
    path = co_await state_->saver->save();
  }
  flush_error = std::exchange(state_->flush_error, nullptr);
}

// Awaited between the copy of the values and the first change in the directory. The events of the
// steps that the checkpoint contains reach the device first: a program that is killed after the
// save never repeats these steps, and would never write their summaries again. A failure to write
// events must not cost the checkpoint: save_and_report() throws it afterwards.
task<void> supervisor::before_write() {
  if (options_.saver.copy_values) state_->saves.values_copied();
  co_await renew_lock();
  if (!state_->writer_is_open()) co_return;
  try {
    co_await state_->writer->flush(options_.saver.durable);
  } catch (const failure& e) {
    if (e.code() == errc::cancelled) throw;
    state_->flush_error = std::current_exception();
  } catch (...) {
    state_->flush_error = std::current_exception();
  }
}

// The lock file may have been removed, and another chief may have locked the directory.
task<void> supervisor::renew_lock() {
  const bool was_lost = co_await state_->lock->renew();
  if (!was_lost) co_return;
  warn("lock file " + state_->lock->path() +
       " was removed or replaced while the lock was held: the lock was acquired again");
}

// `is_first`: the first save after the start. A restored checkpoint is already on the device as the
// newest.
task<void> supervisor::save_periodically(bool is_first) {
  const std::optional<std::int64_t> step = global_step();
  if (is_first && step && step == state_->saves.newest_step()) co_return;
  co_await save_snapshot(nullptr);
}

task<void> supervisor::save_at_end() {
  if (!state_->saver || !state_->lock || !state_->saves.is_allowed()) co_return;
  const bool is_incomplete = state_->steps.has_incomplete_step();
  if (is_incomplete) warn("step did not complete: no final checkpoint is saved");
  if (state_->steps.in_step() && !state_->stop.step_is_late()) {
    warn(
        "stop() called during a step, no final checkpoint is saved: call request_stop() in a step");
  }
  if (!options_.save_at_end || is_incomplete || state_->steps.in_step()) co_return;
  const std::optional<std::int64_t> step = global_step();
  if (step && step == state_->saves.newest_step() && !state_->saves.is_partial()) co_return;
  co_await save_snapshot(nullptr);
}

// ---------------------------------------------------------------------------------------- services

task<std::vector<std::string>> supervisor::start_standard_services() {
  if (!options_.is_chief) {
    throw failure(errc::failed_precondition,
                  options_.name + ": only the chief starts standard services");
  }
  std::vector<std::string> started;
  if (logdir_.empty() && !state_->writer) {
    warn("standard services are not started: logdir is not set");
    co_return started;
  }
  // Precedes all new events: readers discard this step and later ones. The steps that a checkpoint
  // contains are not repeated, so their events remain.
  const std::optional<std::int64_t> now = global_step();
  if (state_->writer_is_open() && now) {
    const std::int64_t first = restored_from_.empty() ? *now : *now + 1;
    co_await state_->writer->add_session_log(session_log::start, first);
    co_await state_->writer->flush();
  }
  const auto start = [&](const char* name, duration interval, auto body) {
    loop(interval, std::move(body), name);
    started.emplace_back(name);
  };
  const bool summarises = state_->writer_is_open() && save_summaries_interval_ > duration::zero();
  if (summarises && options_.summaries) {
    start("summaries", save_summaries_interval_, [this] { return write_summaries(); });
  }
  if (summarises && (!options_.queues.empty() || !options_.stages.empty())) {
    state_->input.emplace(options_.stages, scheduler::current()->now());
    start("input", save_summaries_interval_, [this] { return measure_input(); });
  }
  if (summarises && now) {
    state_->rate.emplace(scheduler::current()->now(), *now, options_.global_step_name);
    start("steps", save_summaries_interval_, [this] { return measure_steps(); });
  }
  if (state_->saver && save_model_interval_ > duration::zero()) {
    start("checkpoints", save_model_interval_, [this, is_first = true]() mutable {
      return save_periodically(std::exchange(is_first, false));
    });
  }
  co_return started;
}

void supervisor::loop(time_span interval, std::function<task<void>()> body, std::string_view name) {
  looper_options o;
  o.interval = interval;
  o.missed_ticks = missed_tick_policy::skip;
  coord_.spawn(looper(std::move(body), std::move(o)), name);
}

task<void> supervisor::write_summaries() {
  const std::int64_t step = global_step().value_or(0);
  summary s = options_.summaries();
  co_await state_->writer->add_summary(std::move(s), step);
}

task<void> supervisor::measure_steps() {
  const std::int64_t step = global_step().value_or(0);
  summary s = state_->rate->sample(scheduler::current()->now(), step);
  co_await state_->writer->add_summary(std::move(s), step);
}

task<void> supervisor::measure_input() {
  const std::int64_t step = global_step().value_or(0);
  summary s = state_->input->sample(scheduler::current()->now());
  add_fullness(s, options_.queues);
  co_await state_->writer->add_summary(std::move(s), step);
}

// --------------------------------------------------------------------------------------- summaries

event_writer& supervisor::require_writer() {
  if (options_.is_chief && state_->writer) return *state_->writer;
  throw failure(errc::failed_precondition,
                options_.name + ": summary_computed() requires a summary writer: " +
                    (options_.is_chief ? "set logdir" : "call it only on the chief"));
}

task<void> supervisor::summary_computed(summary s, std::optional<std::int64_t> step) {
  event_writer& writer = require_writer();
  if (!step) step = global_step();
  co_await writer.add_summary(std::move(s), step.value_or(0));
}

task<void> supervisor::summary_computed(std::string bytes, std::optional<std::int64_t> step) {
  event_writer& writer = require_writer();
  if (!step) step = global_step();
  co_await writer.add_summary_bytes(bytes, step.value_or(0));
}

}  // namespace LEAT
