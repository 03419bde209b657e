#include "leat/sync/mutex.hpp"

#include <string>

namespace LEAT {

constinit const wait_operation::kind mutex::lock_operation::wait_kind =
    synchronizer_waiter::kind_of("lock", "mutex");

bool mutex::take(caller by) noexcept {
  using attempt = detail::state_lock::attempt;
  if (const attempt taken = take_quickly(by); taken != attempt::unknown)
    return taken == attempt::done;
  const section lock(*this);
  if (!try_take(1)) return false;
  holder_ = {id_of(by), by.where, about_now(by)};
  return true;
}

// The common case: a task unlocks, and another one waits first. It makes no call before the last
// one, and so saves no registers.
void mutex::hand_over(bool is_inside) noexcept LEAT_NO_ANALYSIS {
  using detail::state_lock;
  if (!is_inside) [[unlikely]]
    return release_and_serve(1);
  const state_lock::word seen = state().inside();
  const scheduler* const here = scheduler::current();
  synchronizer_waiter* const w = waiting_.first();
  if (seen != state_lock::waiting || !here || !is_task(*w)) [[unlikely]] {
    state().leave(seen);
    return release_and_serve(1);
  }
  holder_ = {w->task(), w->where(), here->turn_time()};
  w->set_outcome(wait_outcome::done);
  waiting_.remove_first();
  state().leave(waiting_.empty() ? 0 : state_lock::waiting);
  w->wake();
}

void mutex::grant(synchronizer_waiter& w) noexcept {
  semaphore_base::grant(w);
  holder_ = detail::lock_holder::of(w, about_now());
}

void mutex::append_state_to(std::string& text) const {
  if (free() == 0) holder_.append_to(text, time_of_waiting());
}

void mutex::inspect(const synchronizer_waiter& w, wait_target& target) const {
  target.certain = !w.is_limited();
  holder_.inspect(target, time_of_waiting());
}

}  // namespace LEAT
