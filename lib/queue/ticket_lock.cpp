#include "leat/queue/detail/ticket_lock.hpp"

#include <cstddef>

namespace leat::detail {

ticket_lock::ticket_lock(std::size_t tasks) {
  for (std::size_t i = 0; i < tasks; ++i) turns_.emplace_back(1, "turn of a source task");
  static_cast<void>(turns_[0].try_push(turn()));
}

ticket_lock::~ticket_lock() = default;

void ticket_lock::unlock(std::size_t ticket) noexcept {
  static_cast<void>(turn_of(ticket + 1).try_push(turn()));  // not full: its turn was popped
}

fifo_queue<ticket_lock::turn>& ticket_lock::turn_of(std::size_t ticket) {
  return turns_[ticket % turns_.size()];
}

}  // namespace leat::detail
