#include "leat/async/dump/internal/live_object.hpp"

#include <algorithm>
#include <utility>

#include "async/dump/live_objects.hpp"
#include "async/thread_registry.hpp"
#include "base/internal/held_during_fork.hpp"

namespace LEAT::detail {

constinit live_object* live_objects::newest_ = nullptr;
constinit std::uint64_t live_objects::made_ = 0;

namespace {

constinit std::mutex mutex_of_objects;

// A child of fork() needs both for its first wait. A dump holds the first one while it asks whether
// an object is alive.
struct locks_of_threads_and_objects {
  void lock() noexcept {
    thread_registry::mutex().lock();
    mutex_of_objects.lock();
  }
  void unlock() noexcept {
    mutex_of_objects.unlock();
    thread_registry::mutex().unlock();
  }
};
constinit locks_of_threads_and_objects locks_of_waits;
[[maybe_unused]] const int registered = held_during_fork<locks_of_waits>();

}  // namespace

std::mutex& live_objects::mutex() noexcept { return mutex_of_objects; }

void live_object::add() noexcept {
  const std::lock_guard lock(live_objects::mutex());
  if (number_ != 0) return;
  number_ = ++live_objects::made_;
  following_ = live_objects::newest_;
  if (following_) following_->previous_ = this;
  live_objects::newest_ = this;
}

void live_object::remove() noexcept {
  if (number_ == 0) return;
  const std::lock_guard lock(live_objects::mutex());
  (previous_ ? previous_->following_ : live_objects::newest_) = following_;
  if (following_) following_->previous_ = previous_;
}

bool live_object::is_alive(const void* object, std::uint32_t number) noexcept {
  const std::lock_guard lock(live_objects::mutex());
  for (const live_object* o = live_objects::newest_; o; o = o->following_) {
    if (o->object_ == object) return o->number() == number;
  }
  return false;
}

std::vector<object_state> live_objects::owned_by_this_thread() {
  std::vector<object_state> found;
  const std::lock_guard lock(mutex());
  for (const live_object* o = newest_; o; o = o->following_) {
    object_state state{.number = o->number_, .type = o->type_};
    if (o->reporter_(o->object_, live_object::access::as_owner, state)) {
      found.push_back(std::move(state));
    }
  }
  return found;
}

std::vector<object_state> live_objects::all(std::vector<object_state> known) {
  std::vector<object_state> found;
  std::sort(known.begin(), known.end(),
            [](const object_state& a, const object_state& b) { return a.number < b.number; });
  const std::lock_guard lock(mutex());
  for (const live_object* o = newest_; o; o = o->following_) {
    const auto reported = std::lower_bound(
        known.begin(), known.end(), o->number_,
        [](const object_state& k, std::uint64_t number) { return k.number < number; });
    if (reported != known.end() && reported->number == o->number_) {
      found.push_back(std::move(*reported));
      continue;
    }
    object_state state{.number = o->number_, .type = o->type_};
    static_cast<void>(o->reporter_(o->object_, live_object::access::any, state));
    found.push_back(std::move(state));
  }
  std::reverse(found.begin(), found.end());
  return found;
}

}  // namespace LEAT::detail
