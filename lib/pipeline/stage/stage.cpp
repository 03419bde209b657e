#include "leat/pipeline/stage/detail/stage.hpp"

#include <exception>
#include <utility>

#include "leat/async/internal/yield_turn.hpp"

namespace LEAT::detail {

block_position any_stage::save(block_position before, batch_numbers&, std::string&) const {
  return before;
}

task<void> any_stage::restore(stage_state&) { co_return; }

task<bool> wait_for_input(stage_metrics& metrics, task<bool> next) {
  const stage_wait_timer w(metrics, *scheduler::current(), stage_wait_timer::for_input);
  if (is_turn_over()) co_await yield_turn("pipeline");
  co_return co_await std::move(next);
}

task<void> wait_for_turn(stage_metrics& metrics) {
  const stage_wait_timer w(metrics, *scheduler::current(), stage_wait_timer::for_input);
  co_await yield_turn("pipeline");
}

void end_queue(queue_base& queue, const std::exception_ptr& error) noexcept {
  if (error) {
    queue.fail(error);
  } else {
    queue.close();
  }
}

}  // namespace LEAT::detail
