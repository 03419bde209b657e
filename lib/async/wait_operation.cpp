#include "leat/async/wait_operation.hpp"

#include "leat/async/detail/select_state.hpp"
#include "leat/base/detail/assert.hpp"

namespace leat {

void wait_operation::attach(std::coroutine_handle<> h) noexcept {
  scheduler_ = scheduler::current();
  LEAT_ASSERT(scheduler_ != nullptr,
              "co_await on a leat operation outside a scheduler: run the coroutine with spawn(), "
              "sync_wait() or async_run()");
  handle_ = h;
  run_ = &wait_operation::resume;
}

bool wait_operation::is_wakeup(const work_item& item) noexcept {
  return item.run_ == &wait_operation::resume || item.run_ == &detail::select_state::settle;
}

void wait_operation::resume(work_item& item) noexcept {
  auto& self = static_cast<wait_operation&>(item);
  self.end_wait();
  self.scheduler_->resume(self.handle_, self.context_);
}

}  // namespace leat
