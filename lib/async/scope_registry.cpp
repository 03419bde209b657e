#include "async/scope_registry.hpp"

#include <vector>

namespace leat::detail {

constinit task_scope* scope_registry::newest_ = nullptr;
constinit std::uint64_t scope_registry::made_ = 0;

std::mutex& scope_registry::mutex() noexcept {
  static std::mutex instance;
  return instance;
}

void scope_registry::add(task_scope& s) noexcept {
  const std::lock_guard lock(mutex());
  s.number_ = ++made_;
  s.following_scope_ = newest_;
  if (newest_) newest_->previous_scope_ = &s;
  newest_ = &s;
}

void scope_registry::remove(task_scope& s) noexcept {
  const std::lock_guard lock(mutex());
  (s.previous_scope_ ? s.previous_scope_->following_scope_ : newest_) = s.following_scope_;
  if (s.following_scope_) s.following_scope_->previous_scope_ = s.previous_scope_;
}

std::uint64_t scope_registry::made() noexcept {
  const std::lock_guard lock(mutex());
  return made_;
}

bool scope_registry::is_within(const task_context& c, const task_id& ancestor,
                               std::uint64_t made) noexcept {
  if (c.id() == ancestor) return true;
  const std::lock_guard lock(mutex());
  const task_scope* scope = &c.scope();
  while (scope) {
    const task_id maker = scope->maker();
    if (maker == ancestor) return scope->number() > made;
    scope = first();
    while (scope && scope->number() != maker.scope) scope = next(*scope);
  }
  return false;
}

bool scope_registry::stop_scopes_on(const scheduler& sched) {
  std::vector<task_scope*> found;
  {
    const std::lock_guard lock(mutex());
    for (task_scope* s = first(); s; s = next(*s)) {
      if (s->has_task_on(sched)) found.push_back(s);
    }
  }
  // Not under the lock: a stop calls the stop callbacks of users.
  bool any = false;
  for (task_scope* s : found) any = s->request_scope_stop() || any;
  return any;
}

}  // namespace leat::detail
