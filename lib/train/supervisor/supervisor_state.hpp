#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>

#include "async/scope_registry.hpp"
#include "leat/async/task_group.hpp"
#include "leat/async/task_scope.hpp"
#include "leat/pipeline/stage/detail/step_observer.hpp"
#include "leat/sync/event.hpp"
#include "leat/sync/mutex.hpp"
#include "leat/train/checkpoint/directory_lock.hpp"
#include "leat/train/checkpoint/saver.hpp"
#include "leat/train/summary/event_writer.hpp"
#include "leat/train/summary/stage_rates.hpp"
#include "leat/train/summary/step_rate.hpp"
#include "leat/train/supervisor/supervisor.hpp"
#include "train/supervisor/skipped_checkpoints.hpp"

namespace leat {
namespace detail {

// Waits until `must_wait` returns false. One element in `end` wakes all waiters in turn.
template <class Condition>
task<void> wait_while(Condition must_wait, event& change) {
  while (must_wait()) {
    change.reset();
    co_await change.wait();
  }
}

}  // namespace detail

// The state of a supervisor from prepare_or_wait_for_session() to stop().
struct supervisor::state {
  explicit state(supervisor& owner);

  [[nodiscard]] bool in_step() const noexcept { return steps > 0 || elements; }

  // The element to which the current task belongs, or null.
  [[nodiscard]] detail::step_in_progress* own_element() const noexcept;
  // Returns true if a step must end before a save for a task within `own`, which may be null.
  [[nodiscard]] bool must_end_before_save(const detail::step_in_progress* own) const noexcept;
  // Returns true if no step may begin: a save copies values, or waits for steps that are in
  // progress, none of which is overdue.
  [[nodiscard]] bool must_hold_steps() const noexcept;
  void add_element(detail::step_in_progress& s) noexcept;
  void remove_element(detail::step_in_progress& s) noexcept;
  void remove_elements() noexcept {
    while (elements) remove_element(*elements);
  }

  // Wakes the tasks that wait for their ends.
  void forget_steps() noexcept {
    remove_elements();
    overdue_steps = 0;
    body_marks_steps = false;
    for (event* e : {&step_ended, &all_steps_ended, &body_step_ended}) e->set();
  }
  void forget_stop() noexcept {
    body_requested_stop = stop_pending = step_is_limited = step_is_late = false;
  }
  // During its lifetime, a stop waits for the end of the start.
  class start_in_progress {
   public:
    explicit start_in_progress(state& owner) noexcept : owner_(owner) {
      owner_.preparing = true;
      owner_.starter = scheduler::current_task()->id();
      owner_.scopes_before_start = detail::scope_registry::made();
    }
    start_in_progress(const start_in_progress&) = delete;
    start_in_progress& operator=(const start_in_progress&) = delete;
    ~start_in_progress() {
      owner_.preparing = false;
      owner_.start_ended.set();
    }

   private:
    state& owner_;
  };

  // Registers the task that stops during its lifetime. Precondition: the task holds stop_mutex.
  class stop_in_progress {
   public:
    explicit stop_in_progress(state& owner) noexcept : owner_(owner) {
      owner_.end = &scheduler::current_task()->scope();
    }
    stop_in_progress(const stop_in_progress&) = delete;
    stop_in_progress& operator=(const stop_in_progress&) = delete;
    ~stop_in_progress() { owner_.end = nullptr; }

   private:
    state& owner_;
  };

  // During its lifetime, registers the groups of the body and of the limit of its last step.
  class body_groups {
   public:
    body_groups(state& owner, task_group& body, task_group& limit) noexcept : owner_(owner) {
      owner_.body = owner_.running = &body;
      owner_.limit = &limit;
    }
    body_groups(const body_groups&) = delete;
    body_groups& operator=(const body_groups&) = delete;
    ~body_groups() { owner_.running = owner_.limit = nullptr; }

   private:
    state& owner_;
  };

  // A stop was requested: no step begins before all others have ended.
  [[nodiscard]] bool is_stopping() const noexcept {
    const bool is_over = is_finishing && (stopping || !running);
    return !is_over && (stop_wanted || stop_pending);
  }

  // The next step waits until resume_steps() is called.
  void hold_steps() noexcept { save_pending = true; }
  void begin_copy() noexcept { is_copying = true; }
  // Steps that wait for a save begin, as long as the steps in progress now last.
  void release_steps() noexcept {
    for (detail::step_in_progress* s = elements; s; s = s->next) s->is_overdue = true;
    overdue_steps = steps;
    save_ended.set();
  }
  void resume_steps() noexcept {
    save_pending = is_copying = save_gives_way = false;
    save_ended.set();
    values_copied.set();
  }

  [[nodiscard]] bool writer_is_open() const noexcept { return writer && !writer_closed; }

  std::optional<directory_lock> lock;
  std::optional<class saver> saver;
  std::optional<event_writer> own_writer;
  event_writer* writer = nullptr;
  bool writer_closed = true;
  bool graph_written = false;

  bool prepared = false;
  bool preparing = false;                 // prepare_or_wait_for_session() has not returned
  task_id starter;                        // that awaits it
  std::uint64_t scopes_before_start = 0;  // created in the process before the start
  bool is_ready = false;                  // the state has its values
  bool has_started = false;               // it has been ready since it was prepared
  std::atomic<bool> stopping = false;     // in the body, which continues
  const task_scope* body = nullptr;       // whose task the body is
  task_group* running = nullptr;          // the same while the body runs
  task_group* limit = nullptr;            // of its last step, while the body runs
  std::atomic<scheduler*> sched = nullptr;
  std::weak_ptr<const void> scheduler_lifetime;
  bool body_requested_stop = false;
  bool stop_pending = false;        // a stop of the body, for the end of a step if there is one
  bool step_is_limited = false;     // limit_last_step() was started
  bool step_is_late = false;        // step_grace is over
  const task_scope* end = nullptr;  // whose task the stop is
  bool broken = false;              // a step was begun and not completed: there is nothing to save
  std::size_t steps = 0;            // in progress
  std::size_t overdue_steps = 0;    // in progress when a save had waited too long, about
  detail::step_in_progress* elements = nullptr;  // that for_each() processes; each is a step
  bool body_marks_steps = false;                 // step() was called: elements are no steps
  bool save_pending = false;                     // for the end of all steps: no other one begins
  bool save_gives_way = false;                   // for a while: steps that waited for it begin
  bool is_copying = false;                       // the values must not change
  bool reported_broken = false;
  bool reported_overdue = false;
  bool is_finishing = false;  // the services have ended, and at_end runs
  // Set when a condition may have changed. A task that waits for it resets the event first.
  event step_ended{"end of a step"};
  event all_steps_ended{"end of all steps"};
  event body_step_ended{"end of the last step"};  // or of the body, or it is late
  event save_ended{"end of a save"};              // must_hold_steps() may be false
  event values_copied{"end of a copy"};
  std::shared_ptr<element_steps> observer;
  event start_ended{"end of the start"};
  mutex save_mutex{"save"};
  mutex::guard save_guard;
  mutex stop_mutex{"stop"};
  std::optional<std::int64_t> saved_step;  // of the checkpoint that the state file names
  bool stop_wanted = false;      // request_stop_after_step() was called and the run has not ended
  bool was_stopped = false;      // the last body was stopped, and did not finish by itself
  bool saves_began = false;      // periodic saves
  bool has_saved = false;        // since it was prepared
  bool restored_partly = false;  // the state differs from the checkpoint
  std::stop_source start_stop_source{std::nostopstate};  // ends the waits of the start
  std::exception_ptr flush_error;                        // of the events, before the current save
  std::optional<step_rate> rate;
  std::optional<stage_rates> input;
  detail::skipped_checkpoints skipped;  // by the current restore
};

// The elements that for_each() processes are steps of a body that does not mark its steps.
class supervisor::element_steps final : public detail::step_observer {
 public:
  explicit element_steps(supervisor& owner) noexcept : owner_(&owner) {}
  void detach() noexcept { owner_ = nullptr; }

  [[nodiscard]] bool is_within_step() const noexcept override;
  [[nodiscard]] bool must_stop() const noexcept override;
  [[nodiscard]] bool must_wait(bool in_step) const noexcept override;
  [[nodiscard]] task<void> wait(bool in_step) override;
  void begin_step(detail::step_in_progress& s) noexcept override;
  void end_step(detail::step_in_progress& s, bool finished) noexcept override;

 private:
  supervisor* owner_;
};

}  // namespace leat
