#include "leat/core/wait.hpp"

namespace leat {

void wait::resume(work_item& item) noexcept {
  auto& self = static_cast<wait&>(item);
  self.end_wait();
  self.home_->resume(self.handle_, self.context_);
}

}  // namespace leat
