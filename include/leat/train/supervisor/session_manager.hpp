#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/base/braced.hpp"
#include "leat/base/clock.hpp"
#include "leat/train/checkpoint/saver.hpp"
#include "leat/train/supervisor/session.hpp"
#include "leat/train/supervisor/session_manager_options.hpp"

namespace leat {

/// From where a session is restored. TensorFlow's directory and file name of a checkpoint, which
/// exclude each other, are a saver here, which has a directory, and what it reads.
struct restore_source {
  saver* from = nullptr;             ///< none: nothing is restored
  braced<std::string> path = {};     ///< of the checkpoint, which counts then; empty: the latest
  bool wait_for_checkpoint = false;  ///< until there is one
  time_span max_wait = std::chrono::seconds(7200);
  /// Cancels a wait for a checkpoint or for the chief.
  braced<std::stop_token> stop = {};
  braced<std::function<void(const std::string& path)>> on_restored = {};  ///< told what was
};

/// Opens sessions whose state is ready: restored, made anew, or made by somebody else.
///
/// Thread safety: thread-bound, one operation at a time. TensorFlow: tf.train.SessionManager.
class session_manager {
 public:
  /// Errors: invalid_argument for ready_for_local_init without local_init, and for a wait of 0.
  explicit session_manager(session_manager_options options = {});

  /// For the chief: restores the state; where there is no checkpoint makes it, by init and init_fn.
  /// Then local_init, and it must be ready.
  ///
  /// Errors: failed_precondition when it is not ready in the end, with the reason, or there was no
  ///         function to make it; invalid_argument for wait_for_checkpoint with a saver that has
  ///         rank_directories; what the functions and the saver throw. The session is closed.
  /// Cancellation: as an error.
  [[nodiscard]] task<session> prepare_session(restore_source source);
  [[nodiscard]] task<session> prepare_session() { return prepare_session(restore_source()); }

  /// A session, and whether its state is ready.
  struct recovered {
    session opened;
    bool initialized = false;
    std::string not_ready_reason = {};
  };
  /// Restores the state, runs local_init, and tells whether it is ready then; that it is not is no
  /// error. Errors: what the functions and the saver throw; the session is closed.
  [[nodiscard]] task<recovered> recover_session(restore_source source);

  /// For workers: waits until the state is ready, made by the chief. Each attempt has a session of
  /// its own. With a source, the state is restored from there in each attempt, and is not ready
  /// before there is a checkpoint; how long the source waits does not matter.
  ///
  /// Errors: deadline_exceeded when the next attempt, recovery_wait later, would not come before
  ///         max_wait from the first one; none: no limit. So with a max_wait of recovery_wait or
  ///         less there is one attempt, and no wait. invalid_argument for a saver that has
  ///         rank_directories. What the functions and the saver throw.
  [[nodiscard]] task<session> wait_for_session(std::optional<time_span> max_wait,
                                               restore_source source);
  [[nodiscard]] task<session> wait_for_session(std::optional<time_span> max_wait = {}) {
    return wait_for_session(max_wait, restore_source());
  }

  [[nodiscard]] const session_manager_options& options() const noexcept { return options_; }

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

}  // namespace leat
