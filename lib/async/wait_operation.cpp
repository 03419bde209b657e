#include "leat/async/wait_operation.hpp"

#include "leat/base/detail/assert.hpp"

namespace leat {

void wait_operation::attach(std::coroutine_handle<> h) noexcept {
  scheduler_ = scheduler::current();
  LEAT_ASSERT(scheduler_ != nullptr,
              "a leat operation was awaited outside a scheduler: spawn the coroutine on one");
  handle_ = h;
  run_ = &wait_operation::resume;
}

void wait_operation::resume(work_item& item) noexcept {
  auto& self = static_cast<wait_operation&>(item);
  self.end_wait();
  self.scheduler_->resume(self.handle_, self.context_);
}

}  // namespace leat
