#pragma once

#include "leat/pipeline/stage/internal/step_observer.hpp"
#include "train/supervisor/step_gate.hpp"
#include "train/supervisor/stop_request.hpp"

namespace LEAT::detail {

/// Makes the elements that pipeline::for_each() processes steps of a supervisor. The pipelines may
/// outlive the supervisor, so it calls detach() when it is destroyed.
///
/// Thread safety: thread-bound.
class element_steps final : public step_observer {
 public:
  element_steps(step_gate& steps, stop_request& stop) noexcept : steps_(&steps), stop_(&stop) {}
  void detach() noexcept { steps_ = nullptr; }

  [[nodiscard]] bool is_within_step() const noexcept override {
    return steps_ && steps_->own_element();
  }
  [[nodiscard]] bool must_stop() const noexcept override {
    return counts() && stop_->holds_steps() && !steps_->own_element();
  }
  [[nodiscard]] bool must_wait(bool in_step) const noexcept override {
    if (!counts()) return false;
    return in_step ? steps_->is_copying() : steps_->is_closed() || stop_->holds_steps();
  }
  [[nodiscard]] task<void> wait(bool in_step) override {
    return in_step ? steps_->wait_for_copy() : stop_->wait_before_step();
  }
  void begin_step(step_in_progress& s) noexcept override {
    if (steps_) steps_->begin_element(s);
  }
  void end_step(step_in_progress& s, bool finished) noexcept override {
    if (steps_) steps_->end_element(s, finished);
  }

 private:
  [[nodiscard]] bool counts() const noexcept { return steps_ && steps_->counts_elements(); }

  step_gate* steps_;  // null after detach()
  stop_request* const stop_;
};

}  // namespace LEAT::detail
