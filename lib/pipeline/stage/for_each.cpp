#include "leat/pipeline/stage/detail/for_each.hpp"

namespace LEAT::detail {

observed_steps::observed_steps(pipeline_context& context) noexcept
    : context_(context), observer_(context.observer()) {
  if (observer_ && observer_->is_within_step()) observer_.reset();
  context_.set_elements_are_steps(observer_ != nullptr);
}

observed_steps::~observed_steps() {
  end(false);
  context_.set_elements_are_steps(false);
}

task<void> observed_steps::wait() { return observer_->wait(in_step_); }

}  // namespace LEAT::detail
