#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "leat/async/task.hpp"
#include "leat/async/task_group.hpp"
#include "leat/train/monitored/monitored_session.hpp"
#include "train/monitored/hook_list.hpp"
#include "train/monitored/session_phase.hpp"
#include "train/monitored/session_restarts.hpp"
#include "train/supervisor/internal/phase_machine.hpp"
#include "train/supervisor/internal/requested_exception.hpp"

namespace LEAT {

// The state of a monitored session. Between two sessions, in the phases `opening` and `recovering`,
// `opened` and `on_stop` are empty.
struct monitored_session::state {
  explicit state(monitored_session_options o, std::function<task<void>()> at_end)
      : options(std::move(o)),
        sv(detail::disable_services(options.supervised, std::move(at_end))),
        restarts(options.retry),
        hooks(detail::make_hook_list(options, sv.global_step().has_value())) {}

  [[nodiscard]] bool is_clean(const std::exception_ptr& error) const {
    return detail::has_any_code(error, options.supervised.clean_stop_errors);
  }

  // A final stop of the coordinator ends the body, too.
  struct end_body {
    state* self;
    void operator()() const noexcept {
      if (!self->restarts.is_retryable(detail::requested_exception(self->sv.coord())))
        self->body->request_stop();
    }
  };
  // The coordinator has a new stop token in each session.
  void subscribe_to_stop() {
    if (body) on_stop.emplace(sv.coord().get_stop_token(), end_body{this});
  }

  // Registers the group of the body during its lifetime.
  class body_scope {
   public:
    body_scope(state& p, task_group& body) : state_(p) {
      p.body = &body;
      p.subscribe_to_stop();
    }
    body_scope(const body_scope&) = delete;
    body_scope& operator=(const body_scope&) = delete;
    ~body_scope() {
      state_.on_stop.reset();
      state_.body = nullptr;
    }

   private:
    state& state_;
  };

  // A warning for which memory is exhausted is dropped.
  void warn(const char* what, const std::exception_ptr& error) const noexcept {
    try {
      sv.warn(what + (": " + detail::error_message(error)));
    } catch (...) {
    }
  }

  // The error of a call that a stop request prevents; managed() treats it as a normal end.
  [[nodiscard]] std::exception_ptr make_stop_request_error(const char* why) {
    if (!stop_request_error) {
      stop_request_error = std::make_exception_ptr(
          failure(errc::failed_precondition, options.supervised.name + ": " + why));
    }
    return stop_request_error;
  }

  // Rejects a task of the coordinator: it would wait for the session, which waits for its end.
  void require_other_task(const char* operation) {
    const task_context* const caller = scheduler::current_task();
    if (!caller || &caller->scope() != &sv.coord()) return;
    throw failure(errc::failed_precondition, options.supervised.name + ": " + operation +
                                                 " in a task of the coordinator would wait for "
                                                 "itself: spawn the task in another task_group");
  }

  // Returns true once a session has been ready.
  [[nodiscard]] bool was_open() const noexcept {
    return phase.now() > detail::session_phase::failed;
  }
  // Returns true during a run().
  [[nodiscard]] bool is_in_run() const noexcept {
    return phase.is(detail::session_phase::running) || phase.is(detail::session_phase::recovering);
  }

  const monitored_session_options options;
  supervisor sv;
  detail::session_restarts restarts;
  const detail::hook_list hooks;
  detail::phase_machine<detail::session_phase> phase;
  std::stop_source stopping;  // takes effect after the current run
  std::weak_ptr<const void> scheduler_lifetime;
  bool stops_supervisor = false;          // only the session does
  bool broken = false;                    // a step of this session was begun and not completed
  bool succeeded = false;                 // end() of the hooks is due
  std::exception_ptr stop_request_error;  // of calls that a stop request prevents
  std::exception_ptr creation_error;      // why no other session could be created

  task_group* body = nullptr;  // while it runs
  // The following belong to one session.
  std::optional<session> opened;
  std::optional<std::stop_callback<end_body>> on_stop;
};

}  // namespace LEAT
