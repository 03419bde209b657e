#include "leat/async/loop/detail/signal_receiver.hpp"

namespace leat::detail {

constinit thread_local signal_receiver* signal_receiver::newest_ = nullptr;

signal_receiver::signal_receiver(scheduler& sched) noexcept
    : scheduler_(sched), following_(newest_) {
  if (following_) following_->previous_ = this;
  newest_ = this;
}

signal_receiver::~signal_receiver() {
  (previous_ ? previous_->following_ : newest_) = following_;
  if (following_) following_->previous_ = previous_;
}

}  // namespace leat::detail
