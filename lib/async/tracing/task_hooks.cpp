#include "leat/async/tracing/task_hooks.hpp"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <new>
#include <utility>

#include "async/internal/watched_run.hpp"
#include "async/tracing/installed_hooks.hpp"
#include "base/internal/held_during_fork.hpp"
#include "base/internal/never_destroyed.hpp"
#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/task_context.hpp"
#include "leat/async/wait_operation.hpp"
#include "leat/base/internal/assert.hpp"
#include "leat/base/internal/preemption_hook.hpp"

namespace LEAT {

constinit unsigned detail::task_runner::hook_changes_ = 0;

namespace detail {

namespace {

constinit std::mutex mutex_of_hooks;
[[maybe_unused]] const int registered_for_fork = held_during_fork<mutex_of_hooks>();

// The newest list; null if there are no hooks. Call it with the lock, so that no thread constructs
// it during fork().
std::shared_ptr<const installed_hooks>& newest_list() noexcept {
  static never_destroyed<std::shared_ptr<const installed_hooks>> instance;
  return instance.get();
}

thread_local bool is_hook_running = false;

struct called_here {
  called_here() noexcept { is_hook_running = true; }
  ~called_here() { is_hook_running = false; }
};

void check_outside_hooks() noexcept {
  LEAT_ASSERT(!is_hook_running,
              "hooks installed or removed by a hook: do it in a task or outside the scheduler");
}

}  // namespace

installed_hooks::installed_hooks(const installed_hooks& other) {
  std::ranges::copy_if(other.entries_, std::back_inserter(entries_),
                       [](const auto& e) { return !e->is_removed.load(); });
}

void installed_hooks::add(const std::shared_ptr<task_hooks>& hooks) {
  std::shared_ptr<const installed_hooks> old;  // freed without the lock
  const std::lock_guard lock(mutex_of_hooks);
  const auto next = newest_list() ? std::make_shared<installed_hooks>(*newest_list())
                                  : std::make_shared<installed_hooks>();
  next->entries_.push_back(std::make_shared<entry>(hooks));
  old = std::exchange(newest_list(), next);
  // A scheduler that misses the change takes the new list in a later turn. The lock of newest()
  // orders the list itself, so the count may be relaxed.
  static_cast<void>(scheduler::add_hook_changes(1));
}

void installed_hooks::remove(const std::shared_ptr<task_hooks>& hooks) noexcept {
  std::shared_ptr<const installed_hooks> old;
  const std::lock_guard lock(mutex_of_hooks);
  const auto& entries = newest_list()->entries_;
  const auto removed = std::ranges::find_if(
      entries, [&](const auto& e) { return e->hooks == hooks && !e->is_removed.load(); });
  // In the entry, which the lists of all schedulers share: it takes effect in the middle of their
  // turns.
  (*removed)->is_removed.store(true);
  old = newest_list();
  try {
    auto next = std::make_shared<installed_hooks>(*old);
    newest_list() = next->entries_.empty() ? nullptr : std::move(next);
  } catch (const std::bad_alloc&) {  // the entry, which is not called any more, stays in the list
  }
  static_cast<void>(scheduler::add_hook_changes(1));
}

std::shared_ptr<const installed_hooks> installed_hooks::newest(unsigned& changes) noexcept {
  const std::lock_guard lock(mutex_of_hooks);
  changes = scheduler::add_hook_changes(0);
  return newest_list();
}

// A simulation must not run another thread while a hook holds a lock of its own.
template <class F>
void installed_hooks::each(F call) const noexcept {
  const preemption_hook::disabled while_called;
  const called_here inside;
  for (const auto& e : entries_) {
    if (!e->is_removed.load(std::memory_order_relaxed)) call(*e->hooks);
  }
}

void installed_hooks::started(const task_context& task) const noexcept {
  each([&](task_hooks& h) { h.on_start(task); });
}
void installed_hooks::resumed(const task_context& task) const noexcept {
  each([&](task_hooks& h) { h.on_resume(task); });
}
void installed_hooks::waits(const task_context& task,
                            const wait_operation& operation) const noexcept {
  each([&](task_hooks& h) { h.on_wait(task, operation); });
}
void installed_hooks::ended(const task_context& task,
                            const std::exception_ptr& error) const noexcept {
  each([&](task_hooks& h) { h.on_end(task, error); });
}

}  // namespace detail

unsigned detail::task_runner::add_hook_changes(unsigned count) noexcept {
  return __atomic_add_fetch(&hook_changes_, count, __ATOMIC_RELAXED);
}

void detail::task_runner::use_newest_hooks_here() noexcept {
  if (scheduler* const here = scheduler::current()) here->use_newest_hooks();
}

void detail::task_runner::use_newest_hooks() noexcept {
  hooks_ = detail::installed_hooks::newest(seen_hook_changes_);
}

void detail::task_runner::report_destroyed(const task_context& c,
                                           const std::exception_ptr& error) const noexcept {
  hooks_->ended(c, error);
}

// The task may install or remove hooks, and so change hooks_.
void detail::task_runner::resume_with_hooks(std::coroutine_handle<> h, task_context* c, bool starts,
                                            wait_operation* ended_wait) noexcept {
  if (c && starts) {
    hooks_->started(*c);
  } else if (c) {
    hooks_->resumed(*c);
  }
  const bool is_watched = c && watched_run::begin(*c);
  if (ended_wait) ended_wait->end_wait();
  task_ = c;
  h.resume();
  while (transfer_) std::exchange(transfer_, nullptr).resume();
  task_ = nullptr;
  if (is_watched) watched_run::end(*c, ended_ != nullptr);
  if (c && hooks_) {
    if (ended_) {
      hooks_->ended(*c, error_);
    } else if (const wait_operation* const w = c->waiting()) {
      hooks_->waits(*c, *w);
    }
  }
  if (ended_) finish_ended(*std::exchange(ended_, nullptr));
}

task_hooks_scope::task_hooks_scope(std::shared_ptr<task_hooks> hooks) : hooks_(std::move(hooks)) {
  LEAT_ASSERT(hooks_ != nullptr, "task_hooks_scope without hooks: pass a std::make_shared<...>()");
  detail::check_outside_hooks();
  detail::installed_hooks::add(hooks_);
  scheduler::use_newest_hooks_here();
}

task_hooks_scope::~task_hooks_scope() {
  detail::check_outside_hooks();
  detail::installed_hooks::remove(hooks_);
  scheduler::use_newest_hooks_here();
}

}  // namespace LEAT
