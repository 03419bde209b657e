#include "async/internal/scope_registry.hpp"

#include <algorithm>
#include <mutex>
#include <sched.h>
#include <utility>
#include <vector>

#include "async/internal/live_tasks_text.hpp"
#include "base/internal/held_during_fork.hpp"

namespace LEAT::detail {

constinit std::array<scope_registry::shard, 64> scope_registry::shards_{};

constinit std::uint64_t scope_registry::numbers_taken_ = 0;
constinit std::uint64_t scope_registry::current_epoch_ = 0;
constinit std::size_t scope_registry::threads_seen_ = 0;
constinit thread_local scope_registry::thread_state scope_registry::here_{};

namespace {

constinit std::mutex mutex_of_new_shards;  // held while a thread takes its shard

constinit scope_registry::all_shards shards_during_fork;
[[maybe_unused]] const int shards_registered = held_during_fork<shards_during_fork>();

}  // namespace

// A scope that happens after this call sees the new epoch, and takes a new block.
std::uint64_t scope_registry::made() noexcept {
  __atomic_fetch_add(&current_epoch_, 1, __ATOMIC_RELAXED);
  return __atomic_load_n(&numbers_taken_, __ATOMIC_RELAXED);
}

void scope_registry::take_numbers(thread_state& here) noexcept {
  constexpr std::uint64_t block = 64;
  // The epoch is read before the block is taken. If made() is called in between, the block counts
  // as outdated and the next scope takes another one. In the other order, a scope that is created
  // after made() could get a number that made() has covered.
  here.epoch = __atomic_load_n(&current_epoch_, __ATOMIC_RELAXED);
  here.next = __atomic_fetch_add(&numbers_taken_, block, __ATOMIC_RELAXED) + 1;
  here.end = here.next + block;
}

void scope_registry::take_shard(thread_state& here) noexcept {
  const std::lock_guard lock(mutex_of_new_shards);
  const std::size_t index = __atomic_fetch_add(&threads_seen_, 1, __ATOMIC_RELAXED);
  here.own = &shards_[index % shards_.size()];
}

void scope_registry::add(task_scope& s, task_scope* parent) noexcept {
  thread_state& here = here_;
  if (!here.own) take_shard(here);
  if (here.next >= here.end || here.next <= s.maker_.scope ||
      here.epoch != __atomic_load_n(&current_epoch_, __ATOMIC_RELAXED)) {
    take_numbers(here);
  }
  // Set before the scope is linked: a stop of the parent may reach it at once, and locks its shard.
  s.number_ = here.next++;
  s.shard_ = here.own;
  s.parent_shard_ = parent ? parent->shard_ : here.own;
  const bool one_shard = parent && parent->shard_ == here.own;
  if (parent && !one_shard) {
    const shard::guard lock(parent->shard_->mutex);
    link_to_parent(s, *parent);
  }
  const shard::guard lock(here.own->mutex);
  if (one_shard) {
    link_to_parent(s, *parent);
  } else {
    link(s, *here.own);
  }
}

void scope_registry::remove_from_parent(task_scope& s) noexcept {
  {
    const shard::guard lock(s.parent_shard_->mutex);
    if (s.stops_in_progress_ == 0) {
      if (s.parent_) leave_parent(s);
      return;
    }
  }
  wait_for_stop(s);
}

void scope_registry::remove(task_scope& s) noexcept {
  const bool one_shard = s.parent_shard_ == s.shard_;
  // With two shards, no stop of the parent can begin after this, so the loop need not check again.
  // With one shard, the check and the removal happen under the same lock.
  if (!one_shard) remove_from_parent(s);
  for (;; wait_for_stop(s)) {
    const shard::guard lock(s.shard_->mutex);
    if (one_shard && s.stops_in_progress_ > 0) continue;
    return unlink_all(s);
  }
}

// A stop in progress calls the stop callbacks of users without a lock, so its duration is not
// bounded: yield instead of spinning.
void scope_registry::wait_for_stop(task_scope& s) noexcept {
  for (;; ::sched_yield()) {
    const shard::guard lock(s.parent_shard_->mutex);
    if (s.stops_in_progress_ > 0) continue;
    if (s.parent_) leave_parent(s);
    return;
  }
}

task_scope* scope_registry::begin_stop_of_child(task_scope& s) noexcept {
  const shard::guard lock(s.shard_->mutex);
  task_scope* const child = s.first_child_;
  if (!child) return nullptr;
  // Unlinked before its stop begins, so that the stop visits each child once, also if children are
  // added meanwhile. From here on, `stops_in_progress_` keeps the child alive: see remove().
  leave_parent(*child);
  child->previous_sibling_ = &s;
  ++child->stops_in_progress_;
  return child;
}

void scope_registry::end_stop(task_scope& child) noexcept {
  const shard::guard lock(child.parent_shard_->mutex);
  --child.stops_in_progress_;  // the last access: the child may be destroyed now
}

// A shard whose first thread arrives after count_ is read is not locked; its scopes are added
// later.
scope_registry::lock_all::lock_all() noexcept
    : count_(std::min(__atomic_load_n(&threads_seen_, __ATOMIC_RELAXED), shards_.size())) {
  for (std::size_t i = 0; i < count_; ++i) as_owner_[i] = shards_[i].mutex.lock();
}

scope_registry::lock_all::~lock_all() {
  for (std::size_t i = count_; i-- > 0;) shards_[i].mutex.unlock(as_owner_[i]);
}

void scope_registry::all_shards::lock() noexcept {
  // No thread takes a new shard until unlock(), so all shards in use are locked.
  mutex_of_new_shards.lock();
  count_ = std::min(__atomic_load_n(&threads_seen_, __ATOMIC_RELAXED), shards_.size());
  for (std::size_t i = 0; i < count_; ++i) shards_[i].mutex.lock_for_fork();
}

void scope_registry::all_shards::unlock() noexcept {
  for (std::size_t i = count_; i-- > 0;) shards_[i].mutex.unlock(false);
  mutex_of_new_shards.unlock();
}

// ------------------------------------------------------------------------------------- searches

bool scope_registry::is_within(const task_context& c, const task_id& ancestor,
                               std::uint64_t made) noexcept {
  if (c.id() == ancestor) return true;
  const lock_all locked;
  const task_scope* scope = &c.scope();
  while (scope) {
    const task_id maker = scope->maker();
    if (maker == ancestor) return scope->number() > made;
    scope = nullptr;
    locked.each([&](const task_scope& s) {
      if (s.number() == maker.scope) scope = &s;
    });
  }
  return false;
}

std::string scope_registry::find_name(const task_id& task) {
  std::string name;
  const lock_all locked;
  locked.each([&](const task_scope& s) {
    if (s.number() != task.scope) return;
    const biased_lock lock(s.mutex_);
    for (const task_context* c = s.children_; c; c = c->following_) {
      if (c->id() == task) name = name_of(*c);
    }
  });
  return name;
}

bool scope_registry::stop_scopes_on(const scheduler& sched) {
  std::vector<task_scope*> found;
  {
    const lock_all locked;
    locked.each([&](task_scope& s) {
      if (s.has_task_on(sched)) found.push_back(&s);
    });
  }
  // The pointers stay valid without the lock, because the tasks of `sched` cannot finish now.
  // Not under the lock: a stop calls the stop callbacks of users.
  bool any = false;
  for (task_scope* s : found) any = s->stop_scope(true) || any;
  return any;
}

}  // namespace LEAT::detail
