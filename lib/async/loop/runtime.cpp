#include "leat/async/loop/runtime.hpp"

#include <chrono>
#include <iostream>
#include <string>
#include <system_error>
#include <thread>

#include <pthread.h>

#include "base/internal/standard_error.hpp"
#include "base/internal/thread_not_started.hpp"
#include "leat/async/dump/dump.hpp"
#include "leat/async/loop/asio_scheduler.hpp"
#include "leat/base/asio.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/assert.hpp"
#include "leat/base/internal/parker.hpp"

#include LEAT_ASIO(executor_work_guard.hpp)
#include LEAT_ASIO(io_context.hpp)

namespace LEAT {

namespace {

// After this time the destructor prints the tasks that it waits for.
constexpr auto quiet_time = std::chrono::seconds(10);

}  // namespace

struct runtime::worker {
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
  scheduler* sched = nullptr;
  detail::parker ended;
  std::jthread thread;

  void start(std::size_t index, const runtime_options& options) {
    sched = &leat::get_scheduler(io, {.spins_before_sleep = options.spins_before_sleep});
    thread = std::jthread([this] {
      io.run();
      ended.unpark();
    });
    const std::string name = "leat " + std::to_string(index);
    ::pthread_setname_np(thread.native_handle(), name.substr(0, 15).c_str());
  }

  ~worker() {
    work.reset();  // the thread leaves run() once its last task has ended
    if (!thread.joinable()) return;
    if (ended.park_until(std::chrono::steady_clock::now() + quiet_time)) return;
    detail::write_stderr("leat: destructor of a runtime is still waiting for tasks:\n");
    dump(std::cerr);
  }
};

runtime::runtime(const runtime_options& options) : size_(options.threads) {
  if (size_ == 0)
    throw failure(errc::invalid_argument, "runtime_options::threads is 0: use 1 or more");
  workers_ = detail::pimpl<worker[]>(new worker[size_]);
  std::size_t i = 0;
  try {
    for (; i < size_; ++i) workers_[i].start(i, options);
  } catch (const std::system_error& error) {
    const std::string number = std::to_string(i + 1) + " of " + std::to_string(size_);
    throw failure(error.code(), detail::thread_not_started("runtime: thread " + number));
  }
}

runtime::~runtime() = default;

std::size_t runtime::size() const noexcept { return size_; }

scheduler& runtime::get_scheduler(std::size_t index) const noexcept {
  LEAT_ASSERT(index < size_,
              "runtime::get_scheduler(): index must be less than the number of threads");
  return *workers_[index].sched;
}

scheduler& runtime::next_scheduler() noexcept {
  // relaxed: only the distribution depends on it.
  return get_scheduler(next_.fetch_add(1, std::memory_order_relaxed) % size_);
}

}  // namespace LEAT
