// The statistics and the description of a queue.

#include "leat/queue/queue_statistics.hpp"

#include <cstddef>
#include <exception>
#include <ostream>
#include <string>

#include "async/dump/internal/process_snapshot.hpp"
#include "base/internal/append_text.hpp"
#include "leat/async/wait_target.hpp"
#include "leat/queue/memory_budget.hpp"
#include "leat/queue/queue_base.hpp"
#include "queue/internal/queue_metrics.hpp"

namespace LEAT {

std::size_t queue_base::size() const noexcept {
  const detail::queue_lock lock(mutex_);
  return size_now();
}

bool queue_base::is_closed() const noexcept {
  const detail::queue_lock lock(mutex_);
  return closed_;
}

std::size_t queue_base::moved_count(const detail::queue_waiter& w) const noexcept {
  const detail::queue_lock lock(mutex_);
  return w.moved_;
}

void queue_base::add_unstarted_runner() noexcept {
  const detail::queue_lock lock(mutex_);
  ++unstarted_runners_;
}

void queue_base::remove_unstarted_runner() noexcept {
  const detail::queue_lock lock(mutex_);
  --unstarted_runners_;
}

bool queue_base::has_unstarted_runner() const noexcept {
  const detail::queue_lock lock(mutex_);
  return unstarted_runners_ > 0;
}

void queue_base::inspect(const detail::queue_waiter& w, wait_target& object) const {
  object.type = "queue";
  object.name = name_;
  if (capacity_ != unbounded) object.capacity = capacity_;
  object.asked = w.count_;
  const detail::queue_lock lock(mutex_);
  object.size = size_now();
  object.closed = closed_;
  object.done = w.moved_;
  if (w.is_linked()) object.partners = (w.is_push() ? popping_ : pushing_).all();
}

std::exception_ptr queue_base::failure_cause() const noexcept {
  const detail::queue_lock lock(mutex_);
  return cause_;
}

queue_statistics queue_base::statistics() const noexcept {
  const detail::queue_lock lock(mutex_);
  queue_statistics s = counts_now();
  s.size = stored();
  return s;
}

queue_statistics queue_base::counts() const noexcept {
  if (mutex_.never_locked()) {
    queue_statistics unused;
    unused.capacity = capacity_;
    unused.weighed = weighed_;
    unused.max_weight = limits_.max_weight();
    return unused;
  }
  const detail::queue_lock lock(mutex_);
  return counts_now();
}

queue_statistics queue_base::counts_now() const noexcept {
  queue_statistics s;
  s.size = size_now();
  s.capacity = capacity_;
  s.min_after_dequeue = min_after_dequeue_;
  s.peak_size = mutex_.peak();
  s.waiting_pushes = pushers_.size() - (close_pending_ ? 1 : 0);
  s.waiting_pops = poppers_.size();
  if (const detail::queue_waiter* w = poppers_.first()) {
    s.awaited = takes_whole_batches_ ? w->count_ : 1;
  }
  s.held = held_;
  s.provisional_pops = provisional_pops_.size();
  s.pushed = mutex_.entered();
  s.popped = s.pushed - s.size - held_;  // without items that a pop may still return
  s.returned = returned_;
  s.push_waits = push_waits_;
  s.pop_waits = pop_waits_;
  s.refused = refused_;
  s.closed = closed_;
  if (weighed_) add_weights_to(s);
  return s;
}

void queue_base::describe(std::ostream& out) const {
  std::string text;
  append_to(text);
  out << text;
}

void queue_base::append_to(std::string& text) const {
  const queue_statistics s = counts();
  detail::append_text(text, "queue '", name_, "' (", s.size);
  if (s.capacity != unbounded) detail::append_text(text, " of ", s.capacity);
  if (weighed_) detail::append_text(text, ", weight ", s.weight);
  if (s.max_weight != unbounded) detail::append_text(text, " of ", s.max_weight);
  if (s.provisional_pops > 0) detail::append_text(text, ", ", s.provisional_pops, " provisional");
  if (s.closed) text += ", closed";
  if (s.refused > 0) detail::append_text(text, ", ", s.refused, " refused");
  text += ')';
  if (!limits_.budget()) return;
  text += ", ";
  limits_.budget()->append_to(text);
}

// ----------------------------------------------------------------------------------- for a dump

std::size_t queue_base::waiting_now() const noexcept { return pushers_.size() + poppers_.size(); }

// Does not allocate: state.waiting has capacity for all operations that wait now.
void queue_base::list_now(detail::object_state& state) const noexcept {
  state.size = size_now();
  state.closed = closed_;
  state.close_waits = close_pending_;
  state.refused = refused_;
  for (const detail::queue_waiter* w = pushers_.first(); w;
       w = waiter_list<detail::queue_waiter>::after(*w)) {
    if (w != &close_marker_) state.waiting.push_back(w->operation());
  }
  for (const detail::queue_waiter* w = poppers_.first(); w;
       w = waiter_list<detail::queue_waiter>::after(*w)) {
    state.waiting.push_back(w->operation());
  }
}

bool queue_base::report(const void* queue, detail::live_object::access how,
                        detail::object_state& state) LEAT_NO_ANALYSIS {
  const auto& q = *static_cast<const queue_base*>(queue);
  if (how == detail::live_object::access::for_trace) {
    state.name = q.name_;
    state.size = q.mutex_.approximate_size();
    return true;
  }
  const bool owner_only = detail::live_object::is_for_owner(how);
  if (detail::live_object::is_for_metrics(how)) {
    if (owner_only && !q.mutex_.try_lock_as_owner()) return false;
    queue_statistics s;
    if (owner_only) {
      s = q.counts_now();
      q.mutex_.unlock(true);
    } else {
      s = q.counts();
    }
    state.name = q.name_;
    for (const detail::queue_metric& m : detail::queue_metrics()) {
      if (s.weighed || !m.is_of_weight) state.samples.push_back({&m.family, m.value(s)});
    }
    return true;
  }
  for (bool listed = q.mutex_.never_locked() && !owner_only; !listed;) {
    if (owner_only && !q.mutex_.try_lock_as_owner()) return false;
    const bool owner = owner_only || q.mutex_.lock();
    const std::size_t waiting = q.waiting_now();
    listed = waiting <= state.waiting.capacity();
    if (listed) q.list_now(state);
    q.mutex_.unlock(owner);
    if (!listed) state.waiting.reserve(waiting + waiting / 2);  // not under the lock
  }
  state.name = q.name_;
  q.append_to(state.words);
  if (q.capacity_ != unbounded) state.capacity = q.capacity_;
  return true;
}

}  // namespace LEAT
