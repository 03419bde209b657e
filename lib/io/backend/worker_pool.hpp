#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "io/backend/stream_poller.hpp"
#include "leat/io/backend/file_backend.hpp"

namespace leat::detail {

/// The worker threads of the process, which are started as needed. They take requests in order of
/// arrival, execute them with plain system calls and then post them to their schedulers.
///
/// Thread safety: thread-safe.
class worker_pool {
 public:
  /// Created on first use, and again in a child of fork(), which has none of its parent's threads.
  /// Never destroyed: tasks on other threads and destructors of static objects may use files while
  /// the process exits. Its threads end with the process.
  /// Errors: std::bad_alloc.
  static worker_pool& instance();

  worker_pool();
  worker_pool(const worker_pool&) = delete;
  worker_pool& operator=(const worker_pool&) = delete;

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

  [[nodiscard]] bool is_in_its_process() const noexcept;
  [[nodiscard]] stream_poller& poller();
  void block_for_stream(file_request& request) noexcept;
  void start_one() noexcept;
  [[noreturn]] void work();

  const unsigned generation_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  work_list waiting_;
  std::size_t waiting_count_ = 0;
  std::size_t idle_ = 0;
  std::unique_ptr<stream_poller> poller_;
  std::vector<std::thread> threads_;
};

}  // namespace leat::detail
