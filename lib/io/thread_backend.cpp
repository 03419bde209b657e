#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "io/backends.hpp"

namespace leat::detail {
namespace {

// The process's workers. A request waits in order of arrival; disks like a few at the same time.
class worker_pool {
 public:
  static worker_pool& instance() {
    static worker_pool pool;
    return pool;
  }

  void submit(file_request& request) noexcept {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(request);
      ++waiting_count_;  // an idle thread may have been told already and not be awake yet
      if (waiting_count_ > idle_ && threads_.size() < max_threads) start_one();
      if (threads_.empty()) {  // none could be started: do it here
        static_cast<void>(waiting_.pop_front());
        --waiting_count_;
        execute(request);
        request.home->post(request);
        return;
      }
    }
    arrived_.notify_one();
  }

 private:
  static constexpr std::size_t max_threads = 4;

  void start_one() noexcept {
    try {
      threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
    } catch (...) {  // those that run do the work
    }
  }

  void work(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    for (;;) {
      ++idle_;
      const bool more = arrived_.wait(lock, stop, [this] { return !waiting_.empty(); });
      --idle_;
      if (!more) return;
      auto& request = static_cast<file_request&>(*waiting_.pop_front());
      --waiting_count_;
      lock.unlock();
      execute(request);
      request.home->post(request);  // the last access: the request may be gone now
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any arrived_;
  work_list waiting_;
  std::size_t waiting_count_ = 0;
  std::size_t idle_ = 0;
  std::vector<std::jthread> threads_;  // last: they use the rest
};

class thread_backend final : public file_backend {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "threads"; }

  void submit(file_request& request) noexcept override { pool_.submit(request); }

  bool try_now(file_request& request) noexcept override { return read_cached(request); }

  void run_now(file_request& request) noexcept override { execute(request); }

 private:
  worker_pool& pool_ = worker_pool::instance();  // here, where its making may fail
};

}  // namespace

std::unique_ptr<file_backend> make_thread_backend() { return std::make_unique<thread_backend>(); }

}  // namespace leat::detail
