#include "leat/async/loop/detail/pending_operations.hpp"

#include <sched.h>
#include <utility>

namespace LEAT::detail {

asio::execution_context::id pending_operations::id;

bool pending_operations::add(pending_operation& o) noexcept {
  const std::lock_guard lock(mutex_);
  if (ended_.load(std::memory_order_relaxed)) return false;
  o.list_ = this;
  o.following_ = first_;
  if (first_) first_->previous_ = &o;
  first_ = &o;
  return true;
}

void pending_operations::remove(pending_operation& o) noexcept {
  const std::lock_guard lock(mutex_);
  (o.previous_ ? o.previous_->following_ : first_) = o.following_;
  if (o.following_) o.following_->previous_ = o.previous_;
  o.list_ = nullptr;
}

bool pending_operations::begin_post(pending_operation& o) noexcept {
  // seq_cst, as in withdraw_all(): either this function sees the mark, or withdraw_all() sees the
  // count.
  posting_.fetch_add(1);
  if (!ended_.load()) {
    o.state_.store(pending_operation::posted, std::memory_order_relaxed);
    return true;
  }
  // release: the thread that undoes the operation sees what it has received.
  o.state_.store(pending_operation::kept, std::memory_order_release);
  end_post();
  return false;
}

void pending_operations::end_post() noexcept { posting_.fetch_sub(1, std::memory_order_release); }

// Afterwards, each operation that was in the list
//
// - was withdrawn, and destroy_all() will destroy it;
// - was completed by another thread, but too late to be posted (`kept`): it is undone, and
//   destroy_all() will destroy it;
// - or was posted: it is undone, and the context destroys it without calling its handler.
//
// The second wait lets the threads leave begin_post() and end_post() before this object can be
// destroyed.
void pending_operations::withdraw_all() noexcept {
  pending_operation* next = nullptr;
  {
    const std::lock_guard lock(mutex_);
    ended_.store(true);
    next = std::exchange(first_, nullptr);
  }
  // Posts that have started use the context. acquire: see end_post().
  const auto wait_for_posts = [this] {
    while (posting_.load() != 0) ::sched_yield();
  };
  wait_for_posts();
  while (pending_operation* const o = next) {
    next = o->following_;
    if (o->state_.load(std::memory_order_relaxed) == pending_operation::posted) {
      o->list_ = nullptr;
      o->undo();  // the context destroys it
      continue;
    }
    if (!o->withdraw()) {
      // Another thread has completed it and is about to access the list. acquire: see begin_post().
      while (o->state_.load(std::memory_order_acquire) != pending_operation::kept) ::sched_yield();
      o->undo();
    }
    o->list_ = nullptr;
    o->following_ = std::exchange(withdrawn_, o);
  }
  wait_for_posts();
}

void pending_operations::destroy_all() noexcept {
  while (pending_operation* const o = withdrawn_) {
    withdrawn_ = o->following_;
    o->destroy();
  }
}

void pending_operations::shutdown() noexcept {
  withdraw_all();
  end_tasks_in(context());
  destroy_all();
}

}  // namespace LEAT::detail
