#include "leat/coordination/queue_runner_handle.hpp"

#include <utility>

#include "coordination/queue_runner_state.hpp"
#include "leat/async/select.hpp"
#include "leat/sync/event.hpp"

namespace LEAT {
namespace {

using shared_state = std::shared_ptr<detail::queue_runner_state>;

// The state lives as long as the wait.
task<void> wait_for_first(shared_state state, duration limit, std::source_location where) {
  if (!state) co_return;
  co_await with_timeout(state->first_enqueue_done.wait(where), limit, where);
  state->rethrow_first_enqueue();
}

task<void> wait_for_end(shared_state state, std::source_location where) {
  if (!state) co_return;
  co_await state->ended.wait(where);
  state->rethrow_first();
}

}  // namespace

std::size_t queue_runner_handle::running_producers() const noexcept {
  return state_ ? state_->running_producers() : 0;
}

std::vector<std::exception_ptr> queue_runner_handle::exceptions_raised() const {
  return state_ ? state_->errors() : std::vector<std::exception_ptr>();
}

task<void> queue_runner_handle::wait_for_first_enqueue(time_span limit,
                                                       std::source_location where) const {
  return wait_for_first(state_, limit, where);
}

task<void> queue_runner_handle::join(std::source_location where) const {
  return wait_for_end(state_, where);
}

}  // namespace LEAT
