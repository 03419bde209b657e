#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/base/braced.hpp"
#include "leat/base/clock.hpp"
#include "leat/train/supervisor/session.hpp"

namespace LEAT {

/// Functions of a program that open its sessions, create its state and check it. A supervisor calls
/// them in its start: see supervisor_options::sessions.
struct session_manager_options {
  /// Opens a session. If not set, an empty session is used.
  option_function<task<session>()> open = {};
  /// Initialises the state if no checkpoint was restored. init is called first, then init_fn.
  option_function<task<void>(session&)> init = {};
  /// Called after `init` if no checkpoint was restored.
  option_function<task<void>(session&)> init_fn = {};
  /// Called by each process in each of its sessions, whether the state was restored or not.
  option_function<task<void>(session&)> local_init = {};
  /// Returns the names of the values that are not initialised. The state is ready if the list is
  /// empty, and always if this function is not set. A failed_precondition with "uninitialized" in
  /// its text counts as not ready.
  option_function<task<std::vector<std::string>>(session&)> ready = {};
  /// Like `ready`, for the values that local_init needs. local_init is not called until they are
  /// ready.
  option_function<task<std::vector<std::string>>(session&)> ready_for_local_init = {};
  /// The time between two checks whether there is a checkpoint, or whether another process has made
  /// the state ready.
  time_span recovery_wait = std::chrono::seconds(30);
};

}  // namespace LEAT
