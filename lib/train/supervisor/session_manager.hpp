#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/base/clock.hpp"
#include "leat/train/checkpoint/saver.hpp"
#include "leat/train/supervisor/session.hpp"
#include "leat/train/supervisor/session_manager_options.hpp"

namespace LEAT::detail {

/// The source from which a session is restored: the latest checkpoint of a saver.
struct restore_source {
  saver* from = nullptr;                            ///< if null, nothing is restored
  bool wait_for_checkpoint = false;                 ///< until there is one
  time_span max_wait = std::chrono::seconds(7200);  ///< then the state counts as not restored
  /// Cancels a wait for a checkpoint or for the chief.
  std::stop_token stop = {};
  std::function<void(const std::string& path)> on_restored = {};  ///< called if set
};

/// A factory of sessions whose state is ready: restored from a checkpoint, newly initialised, or
/// initialised by another process.
///
/// Thread safety: thread-bound, one operation at a time.
/// TensorFlow: tf.train.SessionManager.
class session_manager {
 public:
  /// Errors: invalid_argument for ready_for_local_init without local_init, and for a recovery_wait
  ///         of 0 or less.
  explicit session_manager(session_manager_options options = {});

  /// Opens a session for the chief. Restores the state or, if there is no checkpoint, creates it by
  /// init and init_fn; without both, the registered values are kept. Then calls local_init, after
  /// which the state must be ready.
  ///
  /// Errors: failed_precondition, with the reason, if the state is not ready in the end;
  ///         invalid_argument for wait_for_checkpoint with a saver that has rank_directories;
  ///         exceptions of the functions and the saver. After any error the session is closed.
  /// Cancellation: like an error.
  [[nodiscard]] task<session> prepare_session(restore_source source);

  /// Opens a session for a worker: waits until the chief has made the state ready. Each attempt
  /// opens a new session. With a source, each attempt restores the state from it, and the state is
  /// not ready until there is a checkpoint. The waiting options of the source are ignored.
  ///
  /// Errors: deadline_exceeded if the next attempt, after recovery_wait, would not start before
  ///         max_wait has passed since the first attempt. With a max_wait of at most recovery_wait
  ///         there is one attempt, and no wait. invalid_argument for a saver that has
  ///         rank_directories; exceptions of the functions and the saver.
  [[nodiscard]] task<session> wait_for_session(time_span max_wait, restore_source source);

 private:
  using check = std::function<task<std::vector<std::string>>(session&)>;

  [[nodiscard]] task<session> open() const;
  [[nodiscard]] task<bool> restore(const restore_source& source) const;
  [[nodiscard]] task<void> prepare(session& s, const restore_source& source) const;
  [[nodiscard]] task<std::string> readiness_error(const check& ready, session& s) const;
  [[nodiscard]] task<std::string> try_local_init(session& s) const;
  [[nodiscard]] task<std::string> make_ready(session& s) const;

  const session_manager_options options_;
};

}  // namespace LEAT::detail
