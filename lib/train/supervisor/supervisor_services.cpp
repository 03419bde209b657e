// Services and summaries that run concurrently with the body of a supervisor.

#include <string>
#include <utility>

#include "leat/async/scheduler.hpp"
#include "leat/coordination/looper.hpp"
#include "leat/train/summary/add_fullness.hpp"
#include "train/supervisor/supervisor_state.hpp"

namespace leat {

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
    start("checkpoints", save_model_interval_, [this] { return save_periodically(); });
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

// The first time is immediate: a restored checkpoint is already on the device as the newest.
task<void> supervisor::save_periodically() {
  const bool is_first = !std::exchange(state_->saves_began, true);
  const std::optional<std::int64_t> step = global_step();
  if (is_first && step && step == state_->saved_step) co_return;
  co_await save_snapshot(nullptr);
}

// The lock file may have been removed, and another chief may have locked the directory.
task<void> supervisor::renew_lock() {
  const bool was_lost = co_await state_->lock->renew();
  if (!was_lost) co_return;
  warn("lock file " + state_->lock->path() +
       " was removed or replaced while the lock was held: the lock was acquired again");
}

// Awaited between the copy of the values and the first change in the directory. The events of the
// steps that the checkpoint contains reach the device first: a program that is killed after the
// save never repeats these steps, and would never write their summaries again. A failure to write
// events must not cost the checkpoint: save_snapshot() throws it afterwards.
task<void> supervisor::before_write() {
  if (options_.saver.copy_values) state_->resume_steps();
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

}  // namespace leat
