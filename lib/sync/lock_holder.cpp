#include <algorithm>
#include <chrono>
#include <string>

#include "async/dump/dump_printers.hpp"
#include "async/dump/process_snapshot.hpp"
#include "leat/async/scheduler.hpp"
#include "leat/sync/detail/semaphore_base.hpp"

namespace leat::detail {

namespace {

// The holder may have locked in a turn of another scheduler, which began later than this one.
duration time_since(time_point t) noexcept {
  const scheduler* const here = scheduler::current();
  const time_point now = here ? here->now() : std::chrono::steady_clock::now();
  return std::max(now - t, duration::zero());
}

}  // namespace

void lock_holder::append_to(std::string& text) const {
  text += to_text(wait_target::hold{task, at, time_since(since)}, {});
}

void lock_holder::inspect(wait_target& target) const {
  target.holder = {task, at, time_since(since)};
  target.partners = {task};
}

}  // namespace leat::detail
