#include "train/supervisor/save_gate.hpp"

#include <exception>
#include <utility>

#include "base/text/seconds_text.hpp"

namespace LEAT::detail {

void save_gate::begin_run() noexcept {
  values_ = values::absent;
  is_partial_ = has_warned_ = false;
  newest_step_.reset();
}

// Between the end of drain() and the first wait of `write` nothing else runs, so the values are
// those at the end of a step. `write` was created by the caller, and so was this frame: once the
// mutex is locked, an exhausted memory cannot keep it locked.
task<void> save_gate::run(const step_in_progress* own, task<void> write) {
  mutex::guard turn = co_await one_save_.lock();
  std::exception_ptr error;
  try {
    co_await steps_.drain(own, hold_limit_,
                          [this](duration limit) { warn_about_overdue_step(limit); });
    co_await std::move(write);
  } catch (...) {
    error = std::current_exception();
  }
  steps_.release();
  turn.unlock();
  if (error) std::rethrow_exception(error);
}

void save_gate::warn_about_overdue_step(duration limit) {
  if (std::exchange(has_warned_, true)) return;
  warn_("save waited " + seconds_text(limit) +
        " s for the end of a step while other steps waited for the save: the steps continue, "
        "but a step must not wait for another step");
}

}  // namespace LEAT::detail
