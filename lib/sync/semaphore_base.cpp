#include "leat/sync/detail/semaphore_base.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "async/internal/scope_registry.hpp"
#include "base/internal/exception_in_flight.hpp"
#include "base/internal/standard_error.hpp"
#include "leat/base/internal/assert.hpp"

namespace LEAT::detail {

// Invariant, under the lock: free() <= total_, free() <= maximum_, and total_ - free() permits are
// held by guards or by operations that were granted them. add_permits() may fill the semaphore
// while guards hold permits; release_and_serve() then discards what they return beyond the maximum.
void semaphore_base::destroyed_while_held(const lock_holder* holder) const noexcept {
  std::string text;
  append_name_to(text);
  text += " destroyed while guards hold it";
  if (holder) holder->append_to(text, time_of_waiting(), scope_registry::find_name(holder->task));
  print_stderr("leat: %s: destroy the guards, and join the tasks that have them, first\n",
               text.c_str());
  print_exception_in_flight();
  if (assertion_note) print_stderr("leat: %s\n", assertion_note);
  std::abort();
}

bool semaphore_base::add_permits(std::size_t count) noexcept {
  work_list woken;
  bool fits = true;
  {
    const section lock(*this);
    has_other_sources_ = true;
    const std::size_t added = std::min(count, maximum_ - free());
    fits = added == count;
    set_free(free() + added);
    total_ += added;
    woken = serve_permits();
  }
  wake_all(woken);
  return fits;
}

work_list semaphore_base::serve_permits() noexcept {
  const scheduler* const here = scheduler::current();
  work_list woken;
  while (synchronizer_waiter* const w = waiting_.first()) {
    // A large request blocks the smaller ones after it, so it does not wait forever.
    if (w->request() > free()) break;
    if (w->claim()) {
      grant(*w);
      w->set_outcome(wait_outcome::done);
      wake_later(*w, here, woken);
    }
    waiting_.remove_first();
  }
  return woken;
}

void semaphore_base::release_and_serve(std::size_t count) noexcept {
  work_list woken;
  {
    const section lock(*this);
    const std::size_t returned = std::min(count, maximum_ - free());
    total_ -= count - returned;
    set_free(free() + returned);
    woken = serve_permits();
  }
  wake_all(woken);
}

void semaphore_base::forget_held(std::size_t count) noexcept {
  const section lock(*this);
  has_other_sources_ = true;
  total_ -= count;
}

}  // namespace LEAT::detail
