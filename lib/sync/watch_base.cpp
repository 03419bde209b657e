#include "leat/sync/detail/watch_base.hpp"

#include <string>

#include "base/internal/append_text.hpp"

namespace LEAT::detail {

constinit const wait_operation::kind watch_base::change_kind =
    synchronizer_waiter::kind_of("wait for a change of", "watch");

watch_base::~watch_base() LEAT_NO_ANALYSIS {
  if (unread_ != 0)
    abort_misused("destroyed before the tasks that it woke have read it: join the tasks first");
}

bool watch_base::close() noexcept {
  work_list woken;
  {
    const lock_type lock(mutex_);
    if (closed_) return false;
    closed_ = true;
    woken = end_all(wait_outcome::closed);
  }
  wake_all(woken);
  return true;
}

void watch_base::append_state_to(std::string& text) const {
  append_text(text, " (version ", version_, closed_ ? ", closed)" : ")");
}

}  // namespace LEAT::detail
