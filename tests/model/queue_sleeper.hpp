#pragma once

#include <source_location>

#include "leat/queue/queue_base.hpp"
#include "model/model.hpp"

namespace model {

// A waiting operation on which one thread sleeps while another may cancel it. It returns the result
// as a value.
class sleeper final : public leat::detail::queue_waiter {
 public:
  template <class Operation>
  sleeper(leat::queue_base& q, Operation& operation)
      : queue_waiter(q, Operation::the_role, operation.items(), operation.count(),
                     std::source_location::current()) {
    run_ = [](leat::work_item& woken) noexcept {
      auto& self = static_cast<sleeper&>(static_cast<leat::wait_operation&>(woken));
      require(++self.wake_ups_ == 1, "a waiter was woken twice");
      self.parker_.unpark();
    };
  }

  leat::wait_outcome sleep() { return queue_.begin(*this) ? outcome_ : wait(); }
  // For a provisional pop, which commit() or undo() of the queue ends.
  leat::wait_outcome sleep_provisional() {
    return queue_.begin_provisional(*this) ? outcome_ : wait();
  }

 private:
  leat::wait_outcome wait() {
    parker_.park();
    require(outcome_ != leat::wait_outcome::waiting, "a waiter was woken while it waits");
    return outcome_;
  }

  unsigned wake_ups_ = 0;
  leat::detail::parker parker_;
};

}  // namespace model
