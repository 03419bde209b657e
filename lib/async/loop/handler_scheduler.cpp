#include "async/loop/handler_scheduler.hpp"

#include <mutex>

#include "base/internal/held_during_fork.hpp"
#include "leat/async/detail/awaiter_in_foreign_coroutine.hpp"
#include "leat/base/asio.hpp"

#include LEAT_ASIO(io_context.hpp)

namespace LEAT::detail {
namespace {

constinit std::mutex mutex;
[[maybe_unused]] const int contexts_registered = held_during_fork<mutex>();
constinit handler_scheduler* first = nullptr;

}  // namespace

handler_scheduler::handler_scheduler(scheduler& s, asio::io_context& io) noexcept
    : scheduler_(s), io_(io) {
  const std::lock_guard lock(mutex);
  following_ = first;
  if (first) first->previous_ = this;
  first = this;
}

void handler_scheduler::remove() noexcept {
  const std::lock_guard lock(mutex);
  if (!listed_) return;
  listed_ = false;
  (previous_ ? previous_->following_ : first) = following_;
  if (following_) following_->previous_ = previous_;
}

// Under the lock, so that no context in the list is destroyed meanwhile. A process has few of them.
scheduler* find_scheduler_of_handler() noexcept {
  const std::lock_guard lock(mutex);
  for (const handler_scheduler* s = first; s; s = s->following_) {
    if (s->io_.get_executor().running_in_this_thread()) return &s->scheduler_;
  }
  return nullptr;
}

}  // namespace LEAT::detail
