#include "leat/queue/detail/blocking_queue_waiter.hpp"

#include <stop_token>

#include "leat/queue/queue_base.hpp"

namespace leat::detail {

struct blocking_queue_waiter::stop {
  blocking_queue_waiter* self;
  void operator()() const noexcept { cancel(*self); }
};

blocking_queue_waiter::blocking_queue_waiter(queue_base& queue, role r, void* items,
                                             std::size_t count,
                                             const std::source_location& where) noexcept
    : queue_waiter(queue, r, items, count, where) {
  run_ = &blocking_queue_waiter::unpark;
}

void blocking_queue_waiter::unpark(work_item& item) noexcept {
  static_cast<blocking_queue_waiter&>(item).parker_.unpark();
}

void blocking_queue_waiter::sleep(const wait_limit* limit) {
  if (stop_requested(limit)) {
    outcome_ = queue_outcome::cancelled;
    return;
  }
  const thread_record::blocked here(*this);
  if (queue_.begin(*this)) return;
  // Called at once by a stop that was requested meanwhile.
  const std::stop_callback of_thread(thread_record::stop_token(), stop{this});
  const std::stop_callback of_limit(limit ? limit->stop() : std::stop_token(), stop{this});
  if (parker_.park_until(limit ? limit->deadline() : no_deadline)) return;
  if (queue_.abandon(*this)) {
    outcome_ = queue_outcome::late;
  } else {
    parker_.park();  // it completed at the deadline: its wake-up will arrive
  }
}

}  // namespace leat::detail
