#include "leat/async/dump/internal/live_object.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "async/dump/live_objects.hpp"
#include "async/thread_registry.hpp"
#include "base/internal/held_during_fork.hpp"
#include "base/internal/never_destroyed.hpp"
#include "leat/base/internal/preemption_hook.hpp"

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
  live_objects::keep_counters(*this);
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

std::vector<object_state> live_objects::owned_by_this_thread(live_object::access how) {
  std::vector<object_state> found;
  const std::lock_guard lock(mutex());
  for (const live_object* o = newest_; o; o = o->following_) {
    object_state state{.number = o->number_, .type = o->type_};
    if (o->reporter_(o->object_, how, state)) {
      found.push_back(std::move(state));
    }
  }
  return found;
}

std::vector<object_state> live_objects::all(std::vector<object_state> known) {
  const std::lock_guard lock(mutex());
  return all_with_lock(std::move(known), live_object::access::any);
}

std::vector<object_state> live_objects::all_with_lock(std::vector<object_state> known,
                                                      live_object::access how) {
  std::vector<object_state> found;
  std::sort(known.begin(), known.end(),
            [](const object_state& a, const object_state& b) { return a.number < b.number; });
  for (const live_object* o = newest_; o; o = o->following_) {
    const auto reported = std::lower_bound(
        known.begin(), known.end(), o->number_,
        [](const object_state& k, std::uint64_t number) { return k.number < number; });
    if (reported != known.end() && reported->number == o->number_) {
      found.push_back(std::move(*reported));
      continue;
    }
    object_state state{.number = o->number_, .type = o->type_};
    static_cast<void>(o->reporter_(o->object_, how, state));
    found.push_back(std::move(state));
  }
  std::reverse(found.begin(), found.end());
  return found;
}

// ------------------------------------------------------------------------------------ for metrics

namespace {

void add_samples(std::vector<metric_sample>& sums, const std::vector<metric_sample>& samples,
                 bool counters_only) {
  for (const metric_sample& s : samples) {
    if (counters_only && !s.family->is_counter()) continue;
    const auto same = std::ranges::find(sums, s.family, &metric_sample::family);
    if (same == sums.end()) {
      sums.push_back(s);
    } else {
      same->value = s.family->merge(same->value, s.value);
    }
  }
}

// The names of the last call of sum_metrics(). Guarded by the lock of live_objects.
live_objects::totals_by_name& kept_totals() noexcept {
  static never_destroyed<live_objects::totals_by_name> instance;
  return instance.get();
}

}  // namespace

// Only queues have counters. The lock of another object may be held where it is destroyed.
void live_objects::keep_counters(const live_object& o) noexcept {
  if (kept_totals().empty() || o.type_ != std::string_view("queue")) return;
  const preemption_hook::disabled while_locked;  // the reporter takes the lock of the queue
  try {
    object_state state;
    if (!o.reporter_(o.object_, live_object::access::metrics, state)) return;
    const auto kept = kept_totals().find({o.type_, escaped_label(state.name)});
    if (kept != kept_totals().end()) add_samples(kept->second.ended, state.samples, true);
  } catch (const std::bad_alloc&) {  // the sum decreases, as if the program had been restarted
  }
}

live_objects::totals_by_name live_objects::sum_metrics(std::vector<object_state> known) {
  totals_by_name sums;
  const std::lock_guard lock(mutex());
  for (const object_state& o : all_with_lock(std::move(known), live_object::access::metrics)) {
    totals& sum = sums[{o.type, escaped_label(o.name)}];
    ++sum.count;
    add_samples(sum.samples, o.samples, false);
  }
  for (auto& [name, sum] : sums) {
    const auto kept = kept_totals().find(name);
    if (kept != kept_totals().end()) sum.ended = kept->second.ended;
  }
  kept_totals() = sums;
  for (auto& [name, sum] : sums) add_samples(sum.samples, sum.ended, true);
  return sums;
}

}  // namespace LEAT::detail
