#include <algorithm>
#include <string>
#include <string_view>

#include "async/dump/internal/dump_printers.hpp"
#include "async/dump/internal/process_snapshot.hpp"
#include "leat/sync/detail/semaphore_base.hpp"

namespace LEAT::detail {

namespace {

// The holder may have locked in a turn of another scheduler, which began later than this one.
duration time_between(time_point since, time_point now) noexcept {
  return std::max(now - since, duration::zero());
}

}  // namespace

void lock_holder::append_to(std::string& text, time_point now, std::string_view name) const {
  text += to_text(wait_target::hold{task, at, time_between(since, now)}, name);
}

void lock_holder::inspect(wait_target& target, time_point now) const {
  target.holder = {task, at, time_between(since, now)};
  target.partners = {task};
}

}  // namespace LEAT::detail
