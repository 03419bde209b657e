#pragma once

#include <mutex>
#include <thread>
#include <vector>

#include <poll.h>

#include "leat/base/internal/descriptor.hpp"
#include "leat/files/file_backend.hpp"

namespace LEAT::detail {

class worker_pool;

/// Waits until streams have data or space. One thread serves all streams, so that an empty pipe
/// does not occupy a thread that reads files.
///
/// Belongs to the worker pool and is never destroyed: the thread ends with the process.
///
/// Thread safety: thread-safe.
class stream_poller {
 public:
  /// Passes requests whose stream is ready to `workers`; a cancelled request is posted to its
  /// scheduler. Errors: of the system; std::bad_alloc.
  explicit stream_poller(worker_pool& workers);
  stream_poller(const stream_poller&) = delete;
  stream_poller& operator=(const stream_poller&) = delete;

  /// Waits for the stream of a read or write.
  void add(file_request& request) noexcept;

  /// Cancels a request that waits here or will wait here later.
  void cancel(file_request& request) noexcept;
  /// Cancels all requests of `sched` that wait here.
  void cancel_all(const scheduler& sched) noexcept;

 private:
  void signal() noexcept;
  [[noreturn]] void work();
  [[nodiscard]] work_list take_ready() noexcept;

  worker_pool& workers_;
  descriptor event_;
  std::mutex mutex_;
  work_list waiting_;
  std::size_t count_ = 0;
  // The event, followed by the waiting requests in order. Only the thread uses it.
  std::vector<pollfd> polled_;
  std::vector<pollfd> next_polled_;
  std::thread thread_;  // last: it uses the rest
};

}  // namespace LEAT::detail
