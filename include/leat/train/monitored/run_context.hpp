#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "leat/train/monitored/named_values.hpp"
#include "leat/train/supervisor/session.hpp"
#include "leat/train/supervisor/supervisor.hpp"

namespace leat {

/// One run of a step, as the step and the hooks around it see it: what goes in, what comes out, and
/// whether it is to be the last.
///
/// Made by monitored_session::run(), or to test a hook without one. Refers to supervisor and
/// session, and lives as long as the run: a hook that keeps a result copies it.
/// Thread safety: thread-bound.
/// TensorFlow: SessionRunContext, SessionRunArgs and SessionRunValues in one.
class run_context {
 public:
  run_context(supervisor& sv, session& s, named_values inputs = named_values(),
              std::stop_token stop = {})
      : supervisor_(sv), session_(s), inputs_(std::move(inputs)), stop_(std::move(stop)) {}

  /// Gives the step an input. Each has one source: the caller of run(), or a hook in before_run().
  /// Errors: already_exists, "Same tensor is fed", for a name that is there; invalid_argument for
  ///         an empty one.
  template <class T>
  void feed(std::string name, T value) {
    if (inputs_.contains(name)) refuse_second(name);
    inputs_.add(std::move(name), std::move(value));
  }
  [[nodiscard]] const named_values& inputs() const noexcept { return inputs_; }

  /// What the step gives, for those who look at it in after_run().
  [[nodiscard]] named_values& results() noexcept { return results_; }
  [[nodiscard]] const named_values& results() const noexcept { return results_; }

  /// No run comes behind this one, which goes on to its end.
  void request_stop() noexcept { stop_requested_ = true; }
  [[nodiscard]] bool stop_requested() const noexcept { return stop_requested_; }

  /// Of monitored_session::request_stop(). A hook that waits for others, who may never come, waits
  /// by with_stop(); what that throws ends the run like a request to stop.
  [[nodiscard]] const std::stop_token& get_stop_token() const noexcept { return stop_; }

  /// The step that was done last: the one of this run in after_run(), the one before it earlier.
  [[nodiscard]] std::optional<std::int64_t> global_step() const {
    return supervisor_.global_step();
  }
  [[nodiscard]] supervisor& get_supervisor() const noexcept { return supervisor_; }
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

}  // namespace leat
