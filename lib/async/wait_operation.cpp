#include "leat/async/wait_operation.hpp"

#include "leat/async/detail/select_state.hpp"

namespace LEAT {

constinit char wait_operation::destroyed_mark = 0;

void wait_operation::attach(std::coroutine_handle<> h) {
  scheduler_ = scheduler::current();
  if (!scheduler_) throw detail::no_scheduler_here();
  detail::wait_of_foreign_coroutine::set_operation(*this);
  continuation_ = h.address();
  run_ = &wait_operation::resume;
}

bool wait_operation::yield_after_budget() noexcept {
  if (!context_ || scheduler_->consume_budget()) return false;
  begin_wait();
  wake();
  return true;
}

bool wait_operation::is_wakeup(const work_item& item) noexcept {
  return item.run_ == &wait_operation::resume || item.run_ == &detail::select_state::settle;
}

void wait_operation::resume(work_item& item) noexcept {
  auto& self = static_cast<wait_operation&>(item);
  self.scheduler_->resume_after(self, std::coroutine_handle<>::from_address(self.continuation_),
                                self.context_);
}

}  // namespace LEAT
