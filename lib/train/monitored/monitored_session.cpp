#include "leat/train/monitored/monitored_session.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include "base/internal/error_text.hpp"
#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/select.hpp"
#include "leat/async/sleep.hpp"
#include "leat/async/task_context.hpp"
#include "leat/async/task_group.hpp"
#include "leat/async/this_task.hpp"
#include "leat/base/internal/assert.hpp"
#include "train/monitored/monitored_session_state.hpp"
#include "train/supervisor/internal/close_session.hpp"

namespace LEAT {
namespace {

task<void> catch_error(task<void> t, std::exception_ptr& error) {
  try {
    co_await std::move(t);
  } catch (...) {
    error = std::current_exception();
  }
}

bool is_stragglers_error(const std::exception_ptr& error) {
  try {
    if (error) std::rethrow_exception(error);
  } catch (const stragglers_error&) {
    return true;
  } catch (...) {
    return false;
  }
  return false;
}

// The phase `running`, and `recovering` in between, during its lifetime.
class run_in_progress {
 public:
  explicit run_in_progress(detail::phase_machine<detail::session_phase>& phase) : phase_(phase) {
    phase_.enter(detail::session_phase::running);
  }
  run_in_progress(const run_in_progress&) = delete;
  run_in_progress& operator=(const run_in_progress&) = delete;
  ~run_in_progress() {
    if (phase_.is(detail::session_phase::running)) phase_.enter(detail::session_phase::open);
  }

 private:
  detail::phase_machine<detail::session_phase>& phase_;
};

}  // namespace

// Each session is one run of the supervisor: create() prepares it, and after a failure that is
// retried drop() stops it and create_with_retries() prepares the next one. The supervisor saves
// nothing by itself, since its services are disabled; the hooks do. It awaits end_hooks() as its
// at_end, after its tasks are joined and before its resources are closed, so a hook can still save.
// Only finish() sets `succeeded`, without which end_hooks() calls no hook: a session that has
// failed ends without a save.

monitored_session::monitored_session(monitored_session_options options)
    : state_(std::make_unique<state>(std::move(options), [this] { return end_hooks(); })) {
  const monitored_session_options& o = state_->options;
  if (o.save_checkpoint_steps >= 0 && o.save_summaries_steps >= 0) return;
  throw failure(errc::invalid_argument,
                o.supervised.name +
                    ": save_checkpoint_steps or save_summaries_steps is negative: set 0 or more");
}

monitored_session::~monitored_session() {
  LEAT_ASSERT(
      !state_->opened || scheduler::current_is_ending() || state_->scheduler_lifetime.expired(),
      "monitored_session destroyed while open: use managed(), or call close() on every path, "
      "including exceptions");
}

supervisor& monitored_session::get_supervisor() noexcept { return state_->sv; }

bool monitored_session::should_stop() const noexcept {
  if (state_->stopping.stop_requested()) return true;
  const detail::session_phase phase = state_->phase.now();
  if (phase == detail::session_phase::recovering) return false;
  if (phase != detail::session_phase::open && phase != detail::session_phase::running) return true;
  const coordinator& coord = state_->sv.coord();
  return coord.should_stop() && !state_->restarts.is_retryable(detail::requested_exception(coord));
}

void monitored_session::request_stop() noexcept {
  static_cast<void>(state_->stopping.request_stop());
}

// -------------------------------------------------------------------------------- the beginning

task<void> monitored_session::open() {
  LEAT_ASSERT(state_->phase.is(detail::session_phase::created),
              "monitored_session opened twice: create another object");
  state_->require_other_task("open()");
  state_->scheduler_lifetime = scheduler::current()->lifetime();
  state_->phase.enter(detail::session_phase::opening);
  try {
    for (const auto& hook : state_->hooks) co_await hook->begin(state_->sv);
    co_await create_with_retries(nullptr);
  } catch (...) {
    state_->phase.enter(detail::session_phase::failed);
    throw;
  }
  state_->phase.enter(detail::session_phase::open);
}

// `after`: the failure from which to recover.
task<void> monitored_session::create_with_retries(std::exception_ptr after) {
  for (;;) {
    std::exception_ptr error;
    try {
      co_await create(after);
    } catch (...) {
      error = std::current_exception();
    }
    if (!error) co_return;
    const bool stopped = this_task::stop_requested();
    const bool was_cancelled = !stopped && detail::has_any_code(error, {errc::cancelled});
    if (was_cancelled && state_->stopping.stop_requested()) {
      std::rethrow_exception(
          state_->make_stop_request_error("stop requested before the session was ready"));
    }
    co_await pause(error);
  }
}

task<void> monitored_session::create(std::exception_ptr after) {
  state& p = *state_;
  std::exception_ptr error;
  try {
    const supervisor_options& o = p.options.supervised;
    const bool has_directory = !o.logdir.empty() || !o.summary_dir.empty() || o.writer;
    prepare_options preparing;
    preparing.max_wait = p.options.max_wait;
    preparing.stop = p.stopping.get_token();
    preparing.start_standard_services = has_directory || !o.is_chief;
    session s = co_await p.sv.prepare_or_wait_for_session(preparing);
    p.opened.emplace(std::move(s));
    const bool starts_over = p.sv.restored_from().empty() && o.is_chief && o.state;
    if (after && starts_over && !o.sessions.init && !o.sessions.init_fn) {
      throw failure(errc::failed_precondition,
                    o.name +
                        ": cannot restart without a checkpoint or session_manager_options::init "
                        "after this failure: " +
                        detail::error_message(after));
    }
    if (!preparing.start_standard_services) p.sv.start_queue_runners();
    p.broken = false;
    p.subscribe_to_stop();
    error = co_await run_in_session(begin_session());
    if (error) error = find_cause(error);
  } catch (...) {
    error = std::current_exception();
  }
  if (!error) co_return;
  static_cast<void>(co_await drop(error));
  std::rethrow_exception(error);
}

task<void> monitored_session::begin_session() {
  run_context run = make_run_context(named_values());
  for (const auto& hook : state_->hooks) co_await hook->after_create_session(run);
  if (run.stop_requested()) request_stop();
}

// ----------------------------------------------------------------------------------- recovering

// Ends a session that has failed. Returns true if one of its tasks does not finish. Other errors
// are reported here, since the next session does not know them.
task<bool> monitored_session::drop(std::exception_ptr why) {
  const std::exception_ptr error = co_await stop(why);
  std::vector<std::exception_ptr> others = state_->sv.coord().secondary_errors();
  if (error) others.push_back(error);
  for (const std::exception_ptr& other : others) {
    if (other != why) state_->warn("secondary error", other);
  }
  co_return std::ranges::any_of(others, is_stragglers_error);
}

// Ends everything despite errors, and returns the first one.
task<std::exception_ptr> monitored_session::stop(std::exception_ptr why) {
  state& p = *state_;
  p.stops_supervisor = true;
  p.on_stop.reset();  // the caller continues after the stop
  std::exception_ptr first;
  for (int attempt = 0; attempt < 2; ++attempt) {  // the second if the first was out of memory
    try {
      p.sv.request_stop(why);
      co_await p.sv.stop();
      break;
    } catch (...) {
      if (!first) first = std::current_exception();
    }
  }
  p.stops_supervisor = false;
  if (p.opened) {
    const std::exception_ptr late = co_await detail::close_session(*p.opened);
    if (late) p.warn("session cannot be closed", late);
  }
  p.opened.reset();
  co_return first;
}

// Waits before another attempt, or throws the error if there is none.
task<void> monitored_session::pause(std::exception_ptr error) {
  const std::stop_token stopping = state_->stopping.get_token();
  const bool stopped = this_task::stop_requested();
  const std::optional<duration> delay =
      stopped || stopping.stop_requested() ? std::nullopt : state_->restarts.next_delay(error);
  if (!delay) std::rethrow_exception(error);
  static_cast<void>(co_await select(wait_for_stop(stopping), sleep_for(*delay)));
  if (stopping.stop_requested()) std::rethrow_exception(error);
}

task<void> monitored_session::recover(std::exception_ptr error) {
  state_->phase.enter(detail::session_phase::recovering);
  try {
    const bool late = co_await drop(error);
    if (late) {
      state_->sv.warn("task does not finish: the session cannot be restored while it runs");
      std::rethrow_exception(error);
    }
    co_await pause(error);
    co_await create_with_retries(error);
  } catch (...) {
    state_->creation_error = std::current_exception();
  }
  if (!state_->creation_error) co_return state_->phase.enter(detail::session_phase::running);
  state_->phase.enter(detail::session_phase::closed);
  std::rethrow_exception(state_->creation_error);
}

// An error that a task of the coordinator reported precedes a cancelled wait, and the failures that
// it caused.
std::exception_ptr monitored_session::find_cause(const std::exception_ptr& error) const {
  const std::exception_ptr reported = detail::requested_exception(state_->sv.coord());
  if (!reported) return error;
  const bool is_cause =
      state_->restarts.is_retryable(reported) || detail::has_any_code(error, {errc::cancelled});
  return is_cause ? reported : error;
}

// --------------------------------------------------------------------------------------- the runs

task<void> monitored_session::run_step(const step_function& step, named_values inputs) {
  state& p = *state_;
  p.require_other_task("run()");
  LEAT_ASSERT(
      !p.is_in_run(),
      "monitored_session::run() called during another run(): await one run() before the next");
  const std::string& name = p.options.supervised.name;
  const std::stop_token stopping = p.stopping.get_token();
  if (!p.phase.is(detail::session_phase::open)) {
    throw failure(errc::failed_precondition,
                  name + ": run() called while the session is not open: call open() first");
  }
  if (stopping.stop_requested()) {
    std::rethrow_exception(
        p.make_stop_request_error("Run called even after should_stop requested"));
  }
  const run_in_progress here(p.phase);
  for (;;) {
    std::exception_ptr error = detail::requested_exception(p.sv.coord());
    bool last = false;
    if (!error || !p.restarts.is_retryable(error)) {
      task<void> one = run_once(step, inputs, last);
      error = co_await run_in_session(std::move(one));
    }
    if (!error) {
      p.restarts.record_success(p.sv.global_step());
      if (last) request_stop();
      co_return;
    }
    error = find_cause(error);
    const bool stopped = this_task::stop_requested();
    const bool to_stop = stopping.stop_requested();
    if (to_stop && !stopped && detail::has_any_code(error, {errc::cancelled})) {
      std::rethrow_exception(p.make_stop_request_error("run() cancelled by a stop request"));
    }
    if (stopped || to_stop || !p.restarts.is_retryable(error)) std::rethrow_exception(error);
    co_await recover(error);
    if (stopping.stop_requested()) {
      throw failure(errc::out_of_range, name + ": stop requested while the session was restored");
    }
  }
}

// Runs in the scope of the session, which a stop of the coordinator stops.
task<std::exception_ptr> monitored_session::run_in_session(task<void> t) {
  std::exception_ptr error;
  task_group steps("steps");
  const auto end_steps = [&steps]() noexcept { static_cast<void>(steps.request_stop()); };
  const std::stop_callback on_stop(state_->sv.coord().get_stop_token(), end_steps);
  steps.spawn(catch_error(std::move(t), error), "run");
  co_await steps.join();
  co_return error;
}

run_context monitored_session::make_run_context(named_values inputs) const {
  return {state_->sv, *state_->opened, std::move(inputs), state_->stopping.get_token()};
}

task<void> monitored_session::run_once(const step_function& step, named_values inputs, bool& last) {
  run_context run = make_run_context(std::move(inputs));
  for (const auto& hook : state_->hooks) co_await hook->before_run(run);
  co_await run_in_step_scope(step, run);
  for (const auto& hook : state_->hooks) co_await hook->after_run(run);
  last = run.stop_requested();
}

// The end of the input has changed nothing; after any other error nothing is saved.
task<void> monitored_session::run_in_step_scope(const step_function& step, run_context& run) {
  std::exception_ptr error;
  {
    // An exception that leaves this block marks the step as incomplete. A clean error is rethrown
    // after it, so that its step counts as complete.
    const auto here = co_await state_->sv.step();
    co_await catch_error(step(run), error);
    if (error && !state_->is_clean(error)) {
      state_->broken = true;
      std::rethrow_exception(error);
    }
  }
  if (error) std::rethrow_exception(error);
}

// ---------------------------------------------------------------------------------------- the end

task<void> monitored_session::run_body(task<void> body) {
  std::exception_ptr error;
  task_group group("body");
  {
    const state::body_scope here(*state_, group);
    group.spawn(catch_error(std::move(body), error), "body");
    co_await group.join();
  }
  if (!error) co_return;
  // A wait that a stop of the coordinator has cancelled ended normally.
  const bool stopped = this_task::stop_requested();
  const bool cancelled = detail::has_any_code(error, {errc::cancelled});
  if (stopped || !cancelled || !group.stop_requested()) std::rethrow_exception(error);
}

task<void> monitored_session::end(const std::exception_ptr& error) {
  const bool stopped = this_task::stop_requested();
  const bool was_cancelled = stopped && error && detail::has_any_code(error, {errc::cancelled});
  // The stop request may have come between the body's check and its run.
  const bool at_end = state_->was_open() && error && state_->is_clean(error);
  const bool clean = !error || was_cancelled || error == state_->stop_request_error || at_end;
  const std::exception_ptr real = clean ? nullptr : error;
  std::exception_ptr first = state_->opened ? nullptr : real;
  for (int attempt = 0; attempt < 2; ++attempt) {  // the second if the first was out of memory
    if (!state_->opened) break;
    try {
      co_await finish(real);
    } catch (...) {
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
  if (was_cancelled) std::rethrow_exception(error);
  if (state_->creation_error && state_->creation_error != state_->stop_request_error)
    std::rethrow_exception(state_->creation_error);
}

task<void> monitored_session::close() {
  state_->require_other_task("close()");
  if (state_->opened) return finish(nullptr);
  throw failure(errc::failed_precondition,
                state_->options.supervised.name + ": close() called while the session is not open");
}

task<void> monitored_session::finish(std::exception_ptr error) {
  state& p = *state_;
  LEAT_ASSERT(!p.is_in_run(), "monitored_session closed during run(): await run() before close()");
  p.phase.enter(detail::session_phase::closing);
  p.succeeded = !error && !p.broken;
  const std::exception_ptr first = co_await stop(error);
  p.phase.enter(detail::session_phase::closed);
  if (first) std::rethrow_exception(first);
  if (!error) co_return;
  p.warn("error after a clean stop", error);
  if (p.options.supervised.throw_after_clean_stop) std::rethrow_exception(error);
}

// Calls all of them despite errors.
task<void> monitored_session::end_hooks() {
  if (!state_->stops_supervisor) {
    throw failure(errc::failed_precondition,
                  state_->options.supervised.name +
                      ": supervisor stopped while its monitored_session is open: "
                      "call request_stop() or close() of the session");
  }
  if (!state_->succeeded) co_return;
  run_context run = make_run_context(named_values());
  std::exception_ptr first;
  for (const auto& hook : state_->hooks) {
    std::exception_ptr error;
    co_await catch_error(hook->end(run), error);
    if (first && error) state_->sv.coord().add_secondary_error(error);
    if (!first) first = error;
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace LEAT
