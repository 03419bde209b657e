#include "leat/async/loop/detail/signal_receiver.hpp"

namespace LEAT {

bool process_environment::raise(int signal) noexcept {
  bool received = false;
  using receiver = detail::signal_receiver;
  for (receiver* r = receivers_; r; r = receiver::next(*r))
    received = r->receive(signal) || received;
  return received;
}

namespace detail {

signal_receiver::signal_receiver(process_environment& process) noexcept
    : process_(process), following_(process.receivers()) {
  if (following_) following_->previous_ = this;
  process_.receivers() = this;
}

signal_receiver::~signal_receiver() {
  (previous_ ? previous_->following_ : process_.receivers()) = following_;
  if (following_) following_->previous_ = previous_;
}

}  // namespace detail
}  // namespace LEAT
