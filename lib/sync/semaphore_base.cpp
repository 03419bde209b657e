#include "leat/sync/detail/semaphore_base.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/exception_in_flight.hpp"
#include "leat/base/detail/assert.hpp"

namespace leat::detail {

semaphore_base::~semaphore_base() LEAT_NO_ANALYSIS {
  if (free_ == total_ || !waiting_.empty()) return;  // ~sync_base() names the waiting tasks
  std::string text;
  append_name_to(text);
  std::fprintf(stderr,
               "leat: %s destroyed while guards hold it: destroy the guards, and join the tasks "
               "that have them, first\n",
               text.c_str());
  print_exception_in_flight();
  if (assertion_note) std::fprintf(stderr, "leat: %s\n", assertion_note);
  std::abort();
}

bool semaphore_base::add_permits(std::size_t count) noexcept {
  work_list woken;
  bool fits = true;
  {
    const biased_lock lock(mutex_);
    has_other_sources_ = true;
    const std::size_t added = std::min(count, maximum_ - free_);
    fits = added == count;
    free_ += added;
    total_ += added;
    woken = serve_permits();
  }
  wake_all(woken);
  return fits;
}

work_list semaphore_base::serve_permits() noexcept {
  const scheduler* const here = scheduler::current();
  work_list woken;
  while (sync_waiter* const w = waiting_.first()) {
    if (w->request_ > free_) break;
    if (w->claim()) {
      grant(*w);
      w->outcome_ = sync_outcome::done;
      wake_later(*w, here, woken);
    }
    waiting_.pop_front();
  }
  return woken;
}

void semaphore_base::release_and_serve(std::size_t count, bool owner) noexcept {
  take_in(count);
  if (waiting_.empty()) return mutex_.unlock(owner);
  work_list woken = serve_permits();
  mutex_.unlock(owner);
  wake_all(woken);
}

void semaphore_base::forget_held(std::size_t count) noexcept {
  const biased_lock lock(mutex_);
  has_other_sources_ = true;
  total_ -= count;
}

}  // namespace leat::detail
