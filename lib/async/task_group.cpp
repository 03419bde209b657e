#include "leat/async/task_group.hpp"

#include <string>

#include "leat/base/error.hpp"

namespace leat {

void detail::throw_body_stopped(std::string_view function) {
  throw failure(errc::cancelled,
                std::string(function) + ": stopped before its body had returned a result");
}

void task_group::wait_join(std::source_location where) {
  block_until(idle, no_deadline, where);
  rethrow_first();
}

void task_group::task_failed(std::exception_ptr error) noexcept {
  if (stop_requested() && to_error_code(error) == errc::cancelled) return;
  {
    const detail::thread_lock lock(error_mutex_);
    if (!first_error_) first_error_ = std::move(error);
    failed_.store(true, std::memory_order_release);
  }
  request_stop();
}

std::exception_ptr task_group::first_error() const noexcept {
  if (!failed_.load(std::memory_order_acquire)) return nullptr;
  const detail::thread_lock lock(error_mutex_);
  return first_error_;
}

}  // namespace leat
