#include "leat/sync/shared_mutex.hpp"

#include <string>
#include <vector>

#include "base/internal/append_text.hpp"

namespace LEAT {

constinit const wait_operation::kind shared_mutex::exclusive_kind =
    synchronizer_waiter::kind_of("lock", "shared_mutex");
constinit const wait_operation::kind shared_mutex::shared_kind =
    synchronizer_waiter::kind_of("lock_shared", "shared_mutex");

bool shared_mutex::take(std::size_t count, caller by) noexcept {
  using attempt = detail::state_lock::attempt;
  if (const attempt taken = take_quickly(count, by); taken != attempt::unknown)
    return taken == attempt::done;
  const section lock(*this);
  if (!try_take(count)) return false;
  note_holder(count, {id_of(by), by.where, about_now(by)});
  return true;
}

void shared_mutex::grant(synchronizer_waiter& w) noexcept {
  semaphore_base::grant(w);
  note_holder(w.request(), detail::lock_holder::of(w, about_now()));
}

void shared_mutex::append_state_to(std::string& text) const {
  if (free() == 0) {
    writer_.append_to(text, time_of_waiting());
  } else if (free() < everything) {
    detail::append_text(text, " (", everything - free(), " shared)");
  }
}

// A reader waits for the writer that holds the lock or, if readers hold it, for a waiting writer.
// A writer waits for everyone who holds the lock.
void shared_mutex::inspect(const synchronizer_waiter& w, wait_target& target) const {
  if (free() == 0) {
    target.certain = !w.is_limited();
    writer_.inspect(target, time_of_waiting());
  } else if (w.request() == everything) {
    target.partners = readers_.all();
  } else if (waiting_.first() != &w) {
    const synchronizer_waiter& writer = *waiting_.first();
    target.certain = !w.is_limited() && !writer.is_limited() && !writer.is_selected();
    target.partners = {writer.task()};
  }
}

}  // namespace LEAT
