#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>

#include "async/internal/scope_registry.hpp"
#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/task_context.hpp"
#include "leat/sync/event.hpp"
#include "leat/sync/mutex.hpp"
#include "leat/train/checkpoint/directory_lock.hpp"
#include "leat/train/checkpoint/saver.hpp"
#include "leat/train/summary/event_writer.hpp"
#include "leat/train/summary/stage_rates.hpp"
#include "leat/train/summary/step_rate.hpp"
#include "leat/train/supervisor/supervisor.hpp"
#include "train/supervisor/element_steps.hpp"
#include "train/supervisor/internal/phase_machine.hpp"
#include "train/supervisor/run_phase.hpp"
#include "train/supervisor/save_gate.hpp"
#include "train/supervisor/session_manager.hpp"
#include "train/supervisor/skipped_checkpoints.hpp"
#include "train/supervisor/step_gate.hpp"
#include "train/supervisor/stop_request.hpp"

namespace LEAT {

// The state of a supervisor. `phase` says which of its parts exist: the resources from the phase
// `starting` to the end of `finishing`, if the options request them.
//
// The members of the supervisor are in two sources: supervisor.cpp has the start and the end of a
// run, and supervisor_services.cpp has steps, saves, services and summaries.
struct supervisor::state {
  explicit state(supervisor& owner);

  // The phase `starting`, during its lifetime.
  class start_in_progress {
   public:
    explicit start_in_progress(state& owner) noexcept : owner_(owner) {
      owner_.phase.enter(detail::run_phase::starting);
      owner_.starter = scheduler::current_task()->id();
      owner_.scopes_before_start = detail::scope_registry::made();
    }
    start_in_progress(const start_in_progress&) = delete;
    start_in_progress& operator=(const start_in_progress&) = delete;
    ~start_in_progress() {
      owner_.phase.enter(detail::run_phase::running);
      owner_.start_ended.set();
    }

   private:
    state& owner_;
  };

  // Registers the task that stops during its lifetime. Precondition: the task holds one_stop.
  class stop_in_progress {
   public:
    explicit stop_in_progress(state& owner) noexcept : owner_(owner) {
      owner_.stop_scope = &scheduler::current_task()->scope();
    }
    stop_in_progress(const stop_in_progress&) = delete;
    stop_in_progress& operator=(const stop_in_progress&) = delete;
    ~stop_in_progress() { owner_.stop_scope = nullptr; }

   private:
    state& owner_;
  };

  [[nodiscard]] bool is_starting() const noexcept { return phase.is(detail::run_phase::starting); }
  [[nodiscard]] bool is_idle() const noexcept { return phase.is(detail::run_phase::idle); }
  [[nodiscard]] bool writer_is_open() const noexcept { return writer && !writer_closed; }

  detail::phase_machine<detail::run_phase> phase;
  detail::session_manager sessions;
  detail::step_gate steps;
  detail::save_gate saves;
  detail::stop_request stop;
  std::shared_ptr<detail::element_steps> observer;

  task_id starter;                        // the task that awaits the start
  std::uint64_t scopes_before_start = 0;  // created in the process before the start
  event start_ended{"end of the start"};
  mutex one_stop{"stop"};
  const task_scope* stop_scope = nullptr;  // of the task that awaits the end of the run
  std::weak_ptr<const void> scheduler_lifetime;

  std::optional<directory_lock> lock;
  std::optional<class saver> saver;
  std::optional<event_writer> own_writer;
  event_writer* writer = nullptr;
  bool writer_closed = true;
  bool graph_written = false;
  bool reported_incomplete = false;  // on_warning was called: no more saves in this run
  std::exception_ptr flush_error;    // of the events, before the current save
  std::optional<step_rate> rate;
  std::optional<stage_rates> input;
  detail::skipped_checkpoints skipped;  // by the current restore
};

}  // namespace LEAT
