#include "io/backend/worker_pool.hpp"

#include <atomic>
#include <cerrno>
#include <memory>
#include <new>
#include <system_error>

#include "base/internal/fork_generation.hpp"
#include "files/internal/buffer_ownership.hpp"
#include "io/backend/backend_support.hpp"
#include "leat/base/internal/assert.hpp"

namespace LEAT::detail {
namespace {

// The lock of worker_threads protects waiting_ and poller_. A request belongs to the pool from
// submit() until it is posted to its scheduler, and may be gone right after the post. A transfer of
// a stream goes to the poller first, and to a worker thread when the stream is ready.

void finish_request(file_request& request, std::int64_t result) noexcept {
  request.result = result;
  mark_user_owned(request);
  request.completion_scheduler->post(request);
}

}  // namespace

worker_pool& worker_pool::instance() {
  static std::atomic<worker_pool*> current{nullptr};
  worker_pool* there = current.load();
  if (there && there->is_in_its_process()) return *there;
  auto made = std::make_unique<worker_pool>();
  // Replaces null or, in a child of fork(), the pool of the parent.
  if (current.compare_exchange_strong(there, made.get())) return *made.release();
  return *there;  // another thread was faster
}

void worker_pool::submit(file_request& request) noexcept {
  LEAT_ASSERT(is_in_its_process(),
              "file of the parent used in a child of fork(): open files in the child");
  mark_kernel_owned(request);
  if (is_stream_transfer(request)) {
    block_for_stream(request);
  } else {
    enqueue(request);
  }
}

stream_poller& worker_pool::poller() {
  const std::lock_guard lock(mutex());
  if (!poller_) poller_ = std::make_unique<stream_poller>(*this);
  return *poller_;
}

void worker_pool::block_for_stream(file_request& request) noexcept {
  try {
    poller().add(request);
  } catch (const std::system_error& e) {
    const bool no_thread = e.code() == std::errc::resource_unavailable_try_again;
    finish_request(request, no_thread ? no_thread_for_streams : -e.code().value());
  } catch (const std::bad_alloc&) {
    finish_request(request, -ENOMEM);
  }
}

void worker_pool::cancel(file_request& request) noexcept {
  if (!is_stream_transfer(request)) {
    request.cancelled = true;  // it has started, or is about to
    return;
  }
  stream_poller* there = nullptr;
  {
    const std::lock_guard lock(mutex());
    there = poller_.get();
  }
  if (there) there->cancel(request);  // null if none was available and the request has ended
}

void worker_pool::cancel_streams(const scheduler& sched) noexcept {
  stream_poller* there = nullptr;
  {
    const std::lock_guard lock(mutex());
    there = poller_.get();
  }
  if (there) there->cancel_all(sched);
}

void worker_pool::enqueue(file_request& request) noexcept {
  lock_type lock(mutex());
  waiting_.push_back(request);
  if (call_thread(lock)) return;
  // No thread could be started: execute it here.
  while (has_items()) execute_next(lock);
}

void worker_pool::execute_next(lock_type& lock) noexcept {
  auto& request = static_cast<file_request&>(*waiting_.pop_front());
  lock.unlock();
  mark_user_owned(request);
  execute(request);
  if (is_stream_transfer(request) && request.result == -EAGAIN) {
    mark_kernel_owned(request);
    block_for_stream(request);  // another thread was faster
  } else {
    request.completion_scheduler->post(request);  // the last access: the request may be gone now
  }
  lock.lock();
}

}  // namespace LEAT::detail
