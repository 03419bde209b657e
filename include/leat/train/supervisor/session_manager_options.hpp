#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/base/braced.hpp"
#include "leat/base/clock.hpp"
#include "leat/train/supervisor/session.hpp"

namespace leat {

/// How the state of a program comes about: what an own function does, or where it is read from.
struct session_manager_options {
  /// Opens a session; without it, an empty one.
  braced<std::function<task<session>()>> open = {};
  /// Gives the state its first values, where no checkpoint has: first init, then init_fn.
  braced<std::function<task<void>(session&)>> init = {};
  braced<std::function<task<void>(session&)>> init_fn = {};
  /// What each process does in each of its sessions, whether the state was restored or not.
  braced<std::function<task<void>(session&)>> local_init = {};
  /// The names of what has no value yet; none: it is ready. Without it, it always is.
  /// failed_precondition with "uninitialized" in its text counts as not ready.
  braced<std::function<task<std::vector<std::string>>(session&)>> ready = {};
  /// The same for what local_init needs; it is not called before.
  braced<std::function<task<std::vector<std::string>>(session&)>> ready_for_local_init = {};
  /// How long to wait before one looks again for a checkpoint, or whether another has made the
  /// state ready.
  time_span recovery_wait = std::chrono::seconds(30);
};

}  // namespace leat
