// A stop request that takes effect between two steps.

#include <chrono>
#include <exception>
#include <string>

#include "leat/core/sleep.hpp"
#include "train/supervisor_parts.hpp"

namespace leat {

bool supervisor::stopped() const noexcept { return parts_->was_stopped; }

void supervisor::request_stop_after_step() noexcept {
  if (parts_->stop_wanted) return;
  parts_->stop_wanted = true;
  parts_->starting.request_stop();
  if (!parts_->prepared || !parts_->is_ready) return;  // run_until_stop() does not start the body
  bool waits_for_step = parts_->steps > 0;
  if (waits_for_step) {
    try {
      coord_.spawn(limit_last_step(), "limit of the last step");
    } catch (...) {  // no memory for a limit: a step must not delay the stop indefinitely
      waits_for_step = false;
    }
  }
  if (!waits_for_step) coord_.request_stop();
}

// The stop request follows when the steps of other tasks have finished.
task<void> supervisor::stop_before_step() {
  if (parts_->steps == 0) coord_.request_stop();
  static_cast<void>(co_await coord_.wait_for_stop());
  throw failure(errc::cancelled, options_.name + ": stopped before a step");
}

// Ends as cancelled if the step finishes first, by the stop of the coordinator.
task<void> supervisor::limit_last_step() {
  co_await sleep_for(options_.step_grace);
  const auto seconds = std::chrono::duration<double>(options_.step_grace);
  std::string text = std::to_string(seconds.count());
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  warn("the current step did not finish within " + text +
       " s after the stop request (step_grace) and is cancelled");
  coord_.request_stop();
}

}  // namespace leat
