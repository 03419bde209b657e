#include "leat/train/supervisor/supervisor.hpp"

#include <algorithm>
#include <new>
#include <stop_token>
#include <utility>

#include "async/internal/scope_registry.hpp"
#include "base/internal/error_text.hpp"
#include "base/internal/standard_error.hpp"
#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/task_context.hpp"
#include "leat/async/task_group.hpp"
#include "leat/async/this_task.hpp"
#include "leat/base/internal/assert.hpp"
#include "leat/train/checkpoint/checkpoint_directory.hpp"
#include "train/checkpoint/checkpoint_paths.hpp"
#include "train/supervisor/internal/close_session.hpp"
#include "train/supervisor/registered_step.hpp"
#include "train/supervisor/supervisor_state.hpp"
#include "train/supervisor/wait_while.hpp"

namespace LEAT {
namespace {

[[noreturn]] void throw_options_error(const supervisor_options& o, const std::string& why) {
  throw failure(errc::invalid_argument, o.name + ": " + why);
}

// Returns why the checkpoint may be lost; empty if it is durable.
task<std::string> try_make_durable(saver& checkpoints, std::string path) {
  std::string why;
  try {
    co_await checkpoints.make_durable(std::move(path));
  } catch (const failure& e) {
    if (e.code() == errc::cancelled) throw;
    why = e.what();
  }
  co_return why;
}

// Returns true if the state file names this checkpoint as the newest. An invalid state file names
// none.
task<bool> is_listed_as_newest(std::string checkpoint, std::string directory, std::string list) {
  bool is_newest = false;
  try {
    const std::optional<checkpoint_state> listed =
        co_await detail::read_checkpoint_state(std::move(directory), std::move(list));
    is_newest = listed && listed->model_checkpoint_path == checkpoint;
  } catch (const failure& e) {
    if (e.code() != errc::invalid_argument) throw;
  }
  co_return is_newest;
}

}  // namespace

supervisor::state::state(supervisor& owner)
    : sessions(owner.options_.sessions),
      steps([this] { stop.steps_have_ended(); }),
      saves(steps, std::max<duration>(owner.options_.step_grace, std::chrono::seconds(1)),
            [&owner](const std::string& sentence) { owner.warn(sentence); }),
      stop(owner.coord_, steps, phase,
           {.name = owner.options_.name,
            .step_grace = owner.options_.step_grace,
            .warn = [&owner](const std::string& sentence) { owner.warn(sentence); }}),
      observer(std::make_shared<detail::element_steps>(steps, stop)) {}

void print_warning(const std::string& sentence) {
  detail::print_stderr("leat: %s\n", sentence.c_str());
}

supervisor::supervisor(supervisor_options options)
    : options_(std::move(options)),
      coord_({.name = options_.name, .clean_stop_errors = options_.clean_stop_errors}),
      state_(std::make_unique<state>(*this)),
      global_step_(options_.global_step) {
  check();
  resolve_options();
}

supervisor::~supervisor() {
  LEAT_ASSERT(
      state_->is_idle() || scheduler::current_is_ending() || state_->scheduler_lifetime.expired(),
      "supervisor destroyed while running: use managed(), or call stop() on every path, "
      "including exceptions");
  state_->observer->detach();
}

void supervisor::check() const {
  const supervisor_options& o = options_;
  if (o.save_summaries_interval < duration::zero())
    throw_options_error(o,
                        "save_summaries_interval is negative: set 0 to disable periodic summaries");
  if (o.save_model_interval < duration::zero())
    throw_options_error(o,
                        "save_model_interval is negative: set 0 to disable periodic checkpoints");
  if (o.step_grace < duration::zero())
    throw_options_error(o, "step_grace is negative: set 0 or more");
  if (o.stop_grace < duration::zero())
    throw_options_error(o, "stop_grace is negative: set 0 or more");
  if (!o.saver.rank_directories.empty() && !o.is_chief) {
    throw_options_error(o,
                        "saver.rank_directories of a worker would delete checkpoints of its chief: "
                        "set it only for the chief");
  }
  if (!o.saver.rank_directories.empty() && o.save_model_interval > duration::zero()) {
    throw_options_error(
        o,
        "save_model_interval with saver.rank_directories would save at different steps: "
        "set it to 0 and call save() at the same steps on all ranks");
  }
  if (!o.is_chief && o.state && o.logdir.empty() && !o.sessions.ready) {
    throw_options_error(o,
                        "worker with state but without logdir would never be ready: "
                        "set the logdir of the chief, or set sessions.ready");
  }
}

void supervisor::resolve_options() {
  if (!global_step_ && options_.state) {
    global_step_ = detail::registered_step(*options_.state, options_.global_step_name,
                                           [this](const std::string& why) { warn(why); });
  }
  if (!options_.is_chief) return;
  logdir_ = options_.logdir;
  if (!logdir_.empty() && options_.state) {
    const bool slash = logdir_.back() == '/';
    save_path_ = logdir_ + (slash ? "" : "/") + options_.saver.basename;
    save_model_interval_ = options_.save_model_interval;
  }
  save_summaries_interval_ = options_.save_summaries_interval;
}

void supervisor::warn(const std::string& sentence) const {
  if (options_.on_warning) options_.on_warning(options_.name + ": " + sentence);
}

std::optional<std::int64_t> supervisor::global_step() const {
  if (!global_step_) return std::nullopt;
  return global_step_();
}

event_writer* supervisor::summary_writer() noexcept { return state_->writer; }
saver* supervisor::get_saver() noexcept { return state_->saver ? &*state_->saver : nullptr; }

// --------------------------------------------------------------------------------------- beginning

// close_resources() closes the resources of a run in the reverse order of open_resources(). The
// lock is acquired first and released last, so no other chief changes the directory from the moment
// the saver reads its list of checkpoints until the last event is written.
task<session> supervisor::prepare_or_wait_for_session(prepare_options options) {
  LEAT_ASSERT(state_->is_idle(), "supervisor prepared again while running: call stop() first");
  state_->scheduler_lifetime = scheduler::current()->lifetime();
  state_->stop.begin_run();
  coord_.clear_stop();
  const state::start_in_progress starting(*state_);
  state_->steps.begin_run();
  state_->saves.begin_run();
  state_->reported_incomplete = false;
  restored_from_.clear();
  co_await open_resources();

  detail::restore_source source;
  source.from = get_saver();
  source.wait_for_checkpoint = options.wait_for_checkpoint;
  source.max_wait = options.max_wait;
  const std::stop_callback forward(options.stop,
                                   [this] { state_->stop.start_waits().request_stop(); });
  source.stop = state_->stop.start_waits().get_token();
  source.on_restored = [this](const std::string& path) {
    restored_from_ = path;
    warn_about_skipped();
  };
  session opened;
  std::exception_ptr error;
  try {
    if (options_.is_chief) {
      opened = co_await state_->sessions.prepare_session(std::move(source));
    } else {
      opened = co_await state_->sessions.wait_for_session(options.max_wait, std::move(source));
    }
  } catch (...) {
    error = std::current_exception();
  }
  warn_about_skipped();
  if (error) std::rethrow_exception(error);
  state_->saves.allow();
  try {
    if (options_.is_chief) co_await start_events();
    if (!restored_from_.empty()) {
      const std::string list = options_.saver.latest_filename;
      std::string why;
      if (options_.is_chief && state_->saver && options_.saver.durable) {
        why = co_await try_make_durable(*state_->saver, restored_from_);
      }
      // A second sync may succeed although data is lost: see file::sync().
      if (!why.empty()) warn("restored checkpoint may not be durable and is saved again: " + why);
      // If the list names another checkpoint, this one is saved again and listed.
      const bool is_listed =
          options_.is_chief && co_await is_listed_as_newest(restored_from_, logdir_, list);
      state_->saves.record(is_listed && why.empty() ? global_step() : std::nullopt,
                           state_->saver && state_->saver->restored_partly());
    }
    if (options.start_standard_services) {
      if (options_.is_chief) co_await start_standard_services();
      if (options_.runners) start_queue_runners();
    }
  } catch (...) {
    error = std::current_exception();
  }
  if (!error) co_return opened;
  static_cast<void>(co_await detail::close_session(opened));
  std::rethrow_exception(error);
}

void supervisor::warn_about_skipped() {
  const std::vector<std::string> warnings = state_->skipped.take_warnings();
  for (const std::string& sentence : warnings) warn(sentence);
}

// Passes on the warnings of the saver.
saver_options supervisor::forwarding_saver_options() const {
  saver_options forwarding = options_.saver;
  forwarding.on_skipped = [this, list = forwarding.latest_filename](
                              const std::string& path, const std::exception_ptr& error) {
    if (options_.saver.on_skipped) options_.saver.on_skipped(path, error);
    const std::string why = detail::error_message(error);
    const bool is_state_file = path == detail::path_in(options_.logdir, list);
    if (is_state_file) {
      warn("state file skipped: " + why);
    } else {
      state_->skipped.add(path, why);
    }
  };
  forwarding.on_warning = [this](const std::string& sentence) {
    if (options_.saver.on_warning) options_.saver.on_warning(sentence);
    warn(sentence);
  };
  if (!options_.is_chief) forwarding.recover_last_checkpoints = false;  // it deletes no checkpoints
  return forwarding;
}

// A worker reads checkpoints, and acquires no lock.
task<void> supervisor::open_resources() {
  if (options_.state) {
    for (const auto& item : options_.state->items()) item->observe_steps(state_->observer);
  }
  if (!options_.logdir.empty()) {
    if (options_.is_chief) state_->lock = co_await directory_lock::acquire(options_.logdir);
    if (options_.state && !state_->saver) {
      class saver opened =
          co_await saver::open(options_.logdir, *options_.state, forwarding_saver_options());
      state_->saver.emplace(std::move(opened));
      if (options_.is_chief) state_->saver->set_before_write([this] { return before_write(); });
    }
  }
  if (options_.is_chief) state_->writer = options_.writer;
  const std::string events = options_.summary_dir.empty() ? options_.logdir : options_.summary_dir;
  const bool own =
      options_.is_chief && !options_.writer && options_.write_events && !events.empty();
  if (own && !state_->own_writer) {
    event_writer opened = co_await event_writer::open(events, options_.events);
    state_->own_writer.emplace(std::move(opened));
  }
  if (own) state_->writer = &*state_->own_writer;
  if (state_->writer && std::exchange(state_->writer_closed, false)) {
    co_await state_->writer->reopen();
    state_->graph_written = false;
  }
}

// Writes the first events of a file.
task<void> supervisor::start_events() {
  if (!state_->writer_is_open() || std::exchange(state_->graph_written, true)) co_return;
  if (!options_.graph_def.empty()) co_await state_->writer->add_graph(options_.graph_def);
  if (!options_.meta_graph_def.empty()) {
    co_await state_->writer->add_meta_graph(options_.meta_graph_def);
  }
}

std::vector<queue_runner_handle> supervisor::start_queue_runners(
    const queue_runner_collection* runners) {
  if (!runners) runners = options_.runners;
  if (!runners) return {};
  return runners->start(coord_);
}

// ---------------------------------------------------------------------------------------- the end

task<void> supervisor::run_until_stop(task<void> body) { return state_->stop.run(std::move(body)); }

task<void> supervisor::end(std::optional<session>& opened, const std::exception_ptr& error,
                           stop_options options) {
  // A body that was stopped from outside ends normally: it has done its work.
  const bool stopped = this_task::stop_requested();
  const bool was_cancelled = stopped && error && detail::has_any_code(error, {errc::cancelled});
  // A stop request has ended a wait of the start: there is nothing to save yet.
  const bool was_stopped_in_start = state_->stop.is_wanted() && !state_->saves.has_values() &&
                                    error && detail::has_any_code(error, {errc::cancelled});
  if (was_stopped_in_start) state_->stop.record_stop_in_start();
  const bool clean = !error || was_cancelled || was_stopped_in_start ||
                     detail::has_any_code(error, options_.clean_stop_errors);
  std::exception_ptr late;
  if (!clean) state_->saves.forbid();
  try {
    coord_.request_stop(was_cancelled || was_stopped_in_start ? nullptr : error);
  } catch (...) {
    late = std::current_exception();  // all tasks were joined before
  }
  std::exception_ptr first;
  for (int attempt = 0; attempt < 2; ++attempt) {  // the second if the first was out of memory
    if (state_->is_idle()) break;
    try {
      co_await stop(options);
    } catch (...) {
      if (!first) first = std::current_exception();
    }
  }
  if (opened) {
    const std::exception_ptr why = co_await detail::close_session(*opened);
    if (why) warn("session cannot be closed: " + detail::error_message(why));
  }
  if (late) std::rethrow_exception(late);
  if (first) std::rethrow_exception(first);
  if (was_cancelled) std::rethrow_exception(error);
  if (clean) co_return;
  warn("error after a clean stop: " + detail::error_message(error));
  if (options_.throw_after_clean_stop) std::rethrow_exception(error);
}

// Saves a final checkpoint also after a stop.
task<void> supervisor::stop(stop_options options) {
  const task_context* const caller = scheduler::current_task();
  if (caller && (&caller->scope() == &coord_ || &caller->scope() == state_->stop_scope)) {
    throw failure(errc::failed_precondition,
                  options_.name +
                      ": stop() in a task of the supervisor would wait for itself: call "
                      "request_stop()");
  }
  if (caller && state_->is_starting() &&
      detail::scope_registry::is_within(*caller, state_->starter, state_->scopes_before_start)) {
    throw failure(errc::failed_precondition, options_.name +
                                                 ": stop() during the start would wait for itself: "
                                                 "call request_stop_after_step()");
  }
  // Determined here, because stop_now() runs in another task.
  const bool by_body = caller && state_->stop.is_body(*caller);
  const bool in_step = state_->steps.own_element() != nullptr;
  // A stop of the caller must not cancel the last save.
  task_group shield(shielded, options_.name + " end");
  shield.spawn(stop_now(options, by_body, in_step), "end");
  try {
    co_await shield.join();
  } catch (const stragglers_error& e) {
    // The exception is lost if the supervisor is destroyed before they end.
    warn(std::string("tasks are still running after stop(), await coord().join() before you "
                     "destroy the supervisor: ") +
         e.what());
    throw;
  }
}

task<void> supervisor::stop_now(stop_options options, bool by_body, bool in_step) {
  task<void> started =  // now: what follows must not depend on memory
      detail::wait_while([p = state_.get()] { return p->is_starting(); }, state_->start_ended);
  const mutex::guard turn = co_await state_->one_stop.lock();
  const state::stop_in_progress here(*state_);
  if (state_->is_starting()) {
    state_->stop.request_in_start();
    co_await std::move(started);
  }
  if (state_->is_idle()) co_return;
  join_options joining;
  joining.grace = options_.stop_grace;
  joining.stragglers = options.stragglers;
  bool succeeded = true;
  // All frames exist before the phase changes: from then on, the stop needs no memory for them.
  task<void> joined = coord_.join(joining);
  task<void> step_over = state_->stop.wait_for_last_step();
  task<void> finished = finish(succeeded, close_resources(options.close_summary_writer));
  std::exception_ptr error;
  state_->phase.enter(detail::run_phase::stopping);
  state_->stop.begin_stop(by_body);
  coord_.request_stop();
  try {
    co_await std::move(joined);
  } catch (...) {
    error = std::current_exception();
  }
  succeeded = !error;
  // A body or an element that calls stop() would wait for its own step.
  if (!by_body && !in_step) co_await std::move(step_over);
  try {
    co_await std::move(finished);
  } catch (...) {
    if (!error) error = std::current_exception();
  }
  state_->phase.enter(detail::run_phase::idle);
  state_->steps.end_run();
  state_->stop.end_run();
  if (error) std::rethrow_exception(error);
}

task<void> supervisor::finish(const bool& succeeded, task<void> closing) {
  std::exception_ptr error;
  state_->phase.enter(detail::run_phase::finishing);
  try {
    if (succeeded && state_->saves.is_allowed() && options_.at_end) co_await options_.at_end();
    if (succeeded) co_await save_at_end();
  } catch (...) {
    error = std::current_exception();
  }
  try {
    co_await std::move(closing);
  } catch (...) {
    if (!error) error = std::current_exception();
  }
  if (error) std::rethrow_exception(error);
}

// Resources that it created belong to their scheduler: the next run creates others.
task<void> supervisor::close_resources(bool close_writer) {
  std::exception_ptr error;
  const bool is_own = state_->own_writer.has_value();
  if ((close_writer || is_own) && state_->writer_is_open()) {
    state_->writer_closed = true;
    try {
      // A rejected start leaves no event file: the directory may belong to another program.
      if (state_->saves.has_values()) co_await state_->writer->add_session_log(session_log::stop);
    } catch (...) {
      error = std::current_exception();
    }
    for (int attempt = 0; attempt < 2; ++attempt) {  // the second if the first was out of memory
      bool again = false;
      try {
        co_await state_->writer->close();
      } catch (const std::bad_alloc&) {
        again = true;
        if (!error) error = std::current_exception();
      } catch (...) {
        if (!error) error = std::current_exception();
      }
      if (!again) break;
    }
  }
  if (is_own) state_->writer = nullptr;
  state_->own_writer.reset();
  state_->rate.reset();
  state_->input.reset();
  state_->saver.reset();
  try {
    if (state_->lock) co_await state_->lock->release();
  } catch (...) {
    if (!error) error = std::current_exception();
  }
  state_->lock.reset();
  if (error) std::rethrow_exception(error);
}

}  // namespace LEAT
