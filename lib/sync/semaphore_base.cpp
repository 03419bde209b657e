#include "leat/sync/detail/semaphore_base.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/exception_in_flight.hpp"
#include "leat/base/detail/assert.hpp"

namespace leat::detail {

semaphore_base::~semaphore_base() LEAT_NO_ANALYSIS {
  if (held_ == 0 || !waiting_.empty()) return;  // ~sync_base() names the waiting tasks
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
    fits = count <= maximum_ - free_;
    free_ = fits ? free_ + count : maximum_;
    woken = serve();
  }
  wake_all(woken);
  return fits;
}

void semaphore_base::release_and_serve(std::size_t count, bool owner) noexcept {
  take_in(count);
  work_list woken = serve();
  mutex_.unlock(owner);
  wake_all(woken);
}

void semaphore_base::forget_held(std::size_t count) noexcept {
  const biased_lock lock(mutex_);
  has_other_sources_ = true;
  held_ -= count;
}

}  // namespace leat::detail
