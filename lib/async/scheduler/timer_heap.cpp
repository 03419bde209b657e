#include "leat/async/scheduler/timer_heap.hpp"

#include "leat/base/internal/assert.hpp"

namespace LEAT {

// Invariant: heap_ is a binary heap by (when_, order_), heap_[t.index_] is t for each timer that is
// set, and index_ is `unset` for all others. The index makes the removal of any timer O(log n).
void timer_heap::place(std::size_t index, timer& t) noexcept {
  heap_[index] = &t;
  t.index_ = index;
}

void timer_heap::sift_up(std::size_t index, timer& t) noexcept {
  while (index > 0) {
    const std::size_t parent = (index - 1) / 2;
    if (!before(t, *heap_[parent])) break;
    place(index, *heap_[parent]);
    index = parent;
  }
  place(index, t);
}

void timer_heap::sift_down(std::size_t index, timer& t) noexcept {
  for (;;) {
    std::size_t child = 2 * index + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && before(*heap_[child + 1], *heap_[child])) ++child;
    if (!before(*heap_[child], t)) break;
    place(index, *heap_[child]);
    index = child;
  }
  place(index, t);
}

// The timers for the earliest time are at the top of the heap.
void timer_heap::find_since(std::uint64_t order, std::size_t index, timer*& found) const noexcept {
  if (index >= heap_.size() || heap_[index]->when_ != earliest()) return;
  timer* const t = heap_[index];
  if (t->order_ >= order) {  // so are those below it, and later than it
    if (!found || before(*t, *found)) found = t;
    return;
  }
  find_since(order, 2 * index + 1, found);
  find_since(order, 2 * index + 2, found);
}

timer* timer_heap::first_since(std::uint64_t order) const noexcept {
  timer* found = nullptr;
  if (next_order_ != order) find_since(order, 0, found);
  return found && found->index_ > 0 ? found : nullptr;
}

void timer_heap::put_first(timer& t) noexcept {
  t.order_ = 0;
  sift_up(t.index_, t);
}

void timer_heap::add(timer& t, time_point when) {
  LEAT_ASSERT(!t.is_set(), "timer set twice: cancel it first");
  heap_.push_back(&t);
  t.when_ = when;
  t.order_ = next_order_++;
  sift_up(heap_.size() - 1, t);
}

bool timer_heap::remove(timer& t) noexcept {
  if (!t.is_set()) return false;
  const std::size_t index = t.index_;
  t.index_ = timer::unset;
  timer* last = heap_.back();
  heap_.pop_back();
  // The last timer takes the place of the removed one. It may come from another subtree, and so
  // belong above that place or below it.
  if (last == &t) return true;
  if (index > 0 && before(*last, *heap_[(index - 1) / 2])) {
    sift_up(index, *last);
  } else {
    sift_down(index, *last);
  }
  return true;
}

timer* timer_heap::pop_due(time_point now) noexcept {
  if (heap_.empty() || heap_.front()->when_ > now) return nullptr;
  timer* due = heap_.front();
  remove(*due);
  return due;
}

}  // namespace LEAT
