#pragma once

#include <exception>

#include "leat/async/task_group.hpp"
#include "leat/train/supervisor/session.hpp"

namespace LEAT::detail {

/// Closes a session, also for a task that was asked to stop. Returns the error of the close.
[[nodiscard]] inline task<std::exception_ptr> close_session(session& s) {
  task_group shield(shielded, "session");
  shield.spawn(s.close(), "close");
  std::exception_ptr error;
  try {
    co_await shield.join();
  } catch (...) {
    error = std::current_exception();
  }
  co_return error;
}

}  // namespace LEAT::detail
