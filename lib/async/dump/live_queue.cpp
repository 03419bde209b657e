#include "leat/async/dump/detail/live_queue.hpp"

#include <algorithm>
#include <utility>

#include "async/dump/live_queues.hpp"

namespace leat::detail {

constinit live_queue* live_queues::newest_ = nullptr;
constinit std::uint64_t live_queues::made_ = 0;

std::mutex& live_queues::mutex() noexcept {
  static std::mutex instance;
  return instance;
}

void live_queue::add() noexcept {
  const std::lock_guard lock(live_queues::mutex());
  number_ = ++live_queues::made_;
  following_ = live_queues::newest_;
  if (following_) following_->previous_ = this;
  live_queues::newest_ = this;
}

void live_queue::remove() noexcept {
  const std::lock_guard lock(live_queues::mutex());
  (previous_ ? previous_->following_ : live_queues::newest_) = following_;
  if (following_) following_->previous_ = previous_;
}

bool live_queue::is_alive(const void* queue, std::uint32_t number) noexcept {
  const std::lock_guard lock(live_queues::mutex());
  for (const live_queue* q = live_queues::newest_; q; q = q->following_) {
    if (q->queue_ == queue) return q->number() == number;
  }
  return false;
}

std::vector<queue_state> live_queues::owned_by_this_thread() {
  std::vector<queue_state> found;
  const std::lock_guard lock(mutex());
  for (const live_queue* q = newest_; q; q = q->following_) {
    queue_state state{.number = q->number_};
    if (q->reporter_(q->queue_, live_queue::access::as_owner, state)) {
      found.push_back(std::move(state));
    }
  }
  return found;
}

std::vector<queue_state> live_queues::all(std::vector<queue_state> known) {
  std::vector<queue_state> found;
  std::sort(known.begin(), known.end(),
            [](const queue_state& a, const queue_state& b) { return a.number < b.number; });
  const std::lock_guard lock(mutex());
  for (const live_queue* q = newest_; q; q = q->following_) {
    const auto reported = std::lower_bound(
        known.begin(), known.end(), q->number_,
        [](const queue_state& k, std::uint64_t number) { return k.number < number; });
    if (reported != known.end() && reported->number == q->number_) {
      found.push_back(std::move(*reported));
      continue;
    }
    queue_state state{.number = q->number_};
    static_cast<void>(q->reporter_(q->queue_, live_queue::access::any, state));
    found.push_back(std::move(state));
  }
  std::reverse(found.begin(), found.end());
  return found;
}

}  // namespace leat::detail
