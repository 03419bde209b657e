#pragma once

#include <cstddef>
#include <memory>

#include "async/blocking/internal/worker_threads.hpp"
#include "io/backend/stream_poller.hpp"
#include "leat/files/file_backend.hpp"

namespace LEAT::detail {

/// The worker threads of the process, which are started as needed. They take requests in order of
/// arrival, execute them with plain system calls and then post them to their schedulers.
///
/// Thread safety: thread-safe.
class worker_pool final : public worker_threads {
 public:
  /// Created on first use, and again in a child of fork(), which has none of its parent's threads.
  /// Never destroyed: tasks on other threads and destructors of static objects may use files while
  /// the process exits. Its threads end with the process.
  /// Errors: std::bad_alloc.
  static worker_pool& instance();

  worker_pool() : worker_threads("leat files", max_threads, duration::zero()) {}

  void submit(file_request& request) noexcept;

  /// Like submit(), for a request whose stream is ready.
  void enqueue(file_request& request) noexcept;

  /// See file_backend::cancel().
  void cancel(file_request& request) noexcept;

  /// Cancels the requests of `sched` that wait for a stream.
  void cancel_streams(const scheduler& sched) noexcept;

 private:
  // Disks are fastest with a few concurrent requests.
  static constexpr std::size_t max_threads = 4;

  [[nodiscard]] stream_poller& poller();
  void block_for_stream(file_request& request) noexcept;
  [[nodiscard]] bool has_items() const noexcept override { return !waiting_.empty(); }
  void execute_next(lock_type& lock) noexcept override;

  work_list waiting_;
  std::unique_ptr<stream_poller> poller_;
};

}  // namespace LEAT::detail
