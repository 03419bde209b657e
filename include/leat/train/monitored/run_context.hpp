#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "leat/train/monitored/named_values.hpp"
#include "leat/train/supervisor/session.hpp"
#include "leat/train/supervisor/supervisor.hpp"

namespace LEAT {

/// One run of a step, as the step and the hooks around it see it: its inputs, its results, and
/// whether it is the last run.
///
/// monitored_session::run() creates it; to test a hook, create one without a monitored_session. It
/// refers to the supervisor and the session and lives as long as the run. A hook that keeps a
/// result must copy it.
///
/// Thread safety: thread-bound.
/// TensorFlow: SessionRunContext, SessionRunArgs and SessionRunValues in one class.
class run_context {
 public:
  run_context(supervisor& sv, session& s, named_values inputs = named_values(),
              std::stop_token stop = {})
      : supervisor_(sv), session_(s), inputs_(std::move(inputs)), stop_(std::move(stop)) {}

  /// Adds an input of the step. Each input has one source: the caller of run(), or a hook in
  /// before_run().
  ///
  /// Errors: already_exists ("Same tensor is fed") for a name that is in use; invalid_argument for
  ///         an empty name.
  template <class T>
  void feed(std::string name, T value) {
    if (inputs_.contains(name)) refuse_second(name);
    inputs_.add(std::move(name), std::move(value));
  }
  /// Returns the inputs of the step.
  [[nodiscard]] const named_values& inputs() const noexcept { return inputs_; }

  /// Returns the results, which the step adds and the hooks read in after_run().
  [[nodiscard]] named_values& results() noexcept { return results_; }
  [[nodiscard]] const named_values& results() const noexcept { return results_; }

  /// Makes this run the last one. The run itself continues to its end.
  void request_stop() noexcept { stop_requested_ = true; }
  /// Returns true if request_stop() was called.
  [[nodiscard]] bool stop_requested() const noexcept { return stop_requested_; }

  /// Returns the token that is stopped by monitored_session::request_stop(). A hook that waits for
  /// other processes, which may never come, must wait by with_stop() with this token. The exception
  /// of with_stop() ends the run like a stop request.
  [[nodiscard]] const std::stop_token& get_stop_token() const noexcept { return stop_; }

  /// Returns the number of the last completed step, or an empty optional if steps are unknown. In
  /// after_run() this is the step of this run, before that the previous one.
  [[nodiscard]] std::optional<std::int64_t> global_step() const {
    return supervisor_.global_step();
  }
  /// Returns the supervisor of the session.
  [[nodiscard]] supervisor& get_supervisor() const noexcept { return supervisor_; }
  /// Returns the session of the run.
  [[nodiscard]] session& get_session() const noexcept { return session_; }

 private:
  [[noreturn]] static void refuse_second(const std::string& name);

  supervisor& supervisor_;
  session& session_;
  named_values inputs_;
  named_values results_;
  std::stop_token stop_;
  bool stop_requested_ = false;
};

}  // namespace LEAT
