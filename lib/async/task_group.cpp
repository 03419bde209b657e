#include "leat/async/task_group.hpp"

#include <memory>
#include <string>
#include <utility>

#include "async/internal/scope_error.hpp"
#include "leat/base/error.hpp"

namespace LEAT {

void detail::throw_body_stopped(std::string_view function) {
  throw failure(errc::cancelled,
                std::string(function) + ": stopped before its body had returned a result");
}

void block_on(task_group::join_wait join) {
  task_group& group = join.group();
  group.block_until(task_group::idle, no_deadline, join.where());
  group.throw_outcome(false);
}

void task_group::task_failed(std::exception_ptr error) noexcept {
  const bool was_stopped = stop_requested() && to_error_code(error) == errc::cancelled;
  if (was_stopped && !stopped_with_parent()) return;
  {
    // The errors are constructed with the first one; release: pairs with the acquire of the
    // readers. The stop follows, so a task that it ends finds the error.
    const detail::thread_lock lock(error_mutex_);
    if (!has_outcome_.load(std::memory_order_relaxed)) std::construct_at(&errors_.value);
    std::exception_ptr& kept = was_stopped ? errors_.value.cancelled : errors_.value.first;
    if (!kept) kept = std::move(error);
    has_outcome_.store(true, std::memory_order_release);
  }
  if (!was_stopped) request_stop();
}

std::exception_ptr task_group::first_error() const noexcept {
  if (!has_outcome_.load(std::memory_order_acquire)) return nullptr;
  const detail::thread_lock lock(error_mutex_);
  if (errors_.value.first) errors_.value.is_first_read = true;
  return errors_.value.first;
}

std::exception_ptr task_group::outcome(bool is_stopped) const noexcept {
  std::exception_ptr error = first_error();
  if (error || !is_stopped || !has_outcome_.load(std::memory_order_acquire)) return error;
  const detail::thread_lock lock(error_mutex_);
  return errors_.value.cancelled;
}

void task_group::throw_outcome(bool is_stopped) const {
  if (const std::exception_ptr error = outcome(is_stopped)) std::rethrow_exception(error);
}

// No error is lost silently.
void task_group::end_outcome() noexcept {
  error_pair ended;
  {
    const detail::thread_lock lock(error_mutex_);
    ended = std::move(errors_.value);
    std::destroy_at(&errors_.value);
  }
  if (!ended.first || ended.is_first_read) return;
  // A scheduler that is destroyed cancels its tasks.
  if (to_error_code(ended.first) == errc::cancelled) return;
  detail::print_scope_error("task group", name(), "unreported error", ended.first);
}

}  // namespace LEAT
