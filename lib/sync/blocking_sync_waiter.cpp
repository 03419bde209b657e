#include "leat/sync/detail/blocking_sync_waiter.hpp"

#include <stop_token>

#include "leat/sync/detail/sync_base.hpp"

namespace leat::detail {

struct blocking_sync_waiter::stop {
  blocking_sync_waiter* self;
  void operator()() const noexcept { sync_base::cancel(*self); }
};

blocking_sync_waiter::blocking_sync_waiter(sync_base& object, const kind& k, std::size_t request,
                                           const std::source_location& where) noexcept
    : sync_waiter(object, k, request, where) {
  run_ = &blocking_sync_waiter::unpark;
}

void blocking_sync_waiter::unpark(work_item& item) noexcept {
  static_cast<blocking_sync_waiter&>(item).parker_.unpark();
}

void blocking_sync_waiter::sleep(const wait_limit* limit) {
  if (stop_requested(limit)) {
    outcome_ = sync_outcome::cancelled;
    return;
  }
  limited_ = limit != nullptr;
  const thread_record::blocked here(*this);
  if (object_.begin(*this)) return;
  // Called at once by a stop that was requested meanwhile.
  const std::stop_callback of_thread(thread_record::stop_token(), stop{this});
  const std::stop_callback of_limit(limit ? limit->stop() : std::stop_token(), stop{this});
  if (parker_.park_until(limit ? limit->deadline() : no_deadline)) return;
  if (sync_base::abandon(*this)) {
    outcome_ = sync_outcome::late;
  } else {
    parker_.park();  // it completed at the deadline: its wake-up will arrive
  }
}

}  // namespace leat::detail
