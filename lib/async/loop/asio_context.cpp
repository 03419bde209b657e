#include "leat/async/loop/internal/asio_context.hpp"

#include <memory>
#include <pthread.h>
#include <system_error>
#include <thread>

#include "async/dump/all_signals_blocked.hpp"
#include "base/internal/fork_generation.hpp"
#include "base/internal/thread_not_started.hpp"
#include "leat/async/loop/asio_scheduler.hpp"
#include "leat/async/loop/internal/event_loop_scheduler.hpp"
#include "leat/async/scheduler/service_key.hpp"
#include "leat/base/asio.hpp"
#include "leat/base/error.hpp"

#include LEAT_ASIO(executor_work_guard.hpp)
#include LEAT_ASIO(io_context.hpp)

namespace LEAT::detail {
namespace {

// The context of a scheduler that has none, with its thread.
class context_thread {
 public:
  static const service_key key;

  context_thread() {
    try {
      const all_signals_blocked for_the_thread;
      thread_ = std::thread([this] { io_.run(); });
    } catch (const std::system_error& error) {
      throw failure(error.code(), thread_not_started("a scheduler: the thread of its sockets"));
    }
    ::pthread_setname_np(thread_.native_handle(), "leat sockets");
  }
  context_thread(const context_thread&) = delete;
  context_thread& operator=(const context_thread&) = delete;
  ~context_thread() {
    if (generation_ != fork_generation()) {  // a child of fork() has no such thread
      thread_.detach();
      return;
    }
    io_.stop();
    thread_.join();
  }

  [[nodiscard]] asio::io_context& context() noexcept { return io_; }

 private:
  const unsigned generation_ = fork_generation();
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  std::thread thread_;
};

const service_key context_thread::key;

}  // namespace

const service_key simulated_asio_context::key;

simulated_asio_context::simulated_asio_context() noexcept = default;
simulated_asio_context::~simulated_asio_context() = default;

asio::io_context& simulated_asio_context::get() {
  if (!io_) io_ = std::make_unique<asio::io_context>(1);
  return *io_;
}

void simulated_asio_context::poll_created() {
  io_->restart();
  io_->poll();
}

asio::io_context* find_asio_context(scheduler& s) noexcept {
  if (asio::io_context* const own = get_io_context(s)) return own;
  if (auto* const simulated = s.find_service<simulated_asio_context>()) {
    try {
      return &simulated->get();
    } catch (...) {  // out of memory or descriptors
      return nullptr;
    }
  }
  auto* const thread = s.find_service<context_thread>();
  return thread ? &thread->context() : nullptr;
}

asio::io_context& asio_context_of(scheduler& s) {
  if (s.is_simulated()) {
    throw failure(errc::failed_precondition,
                  "a simulated scheduler has no sockets of the kernel: run the program in a "
                  "leat::sim::world, whose network connect() and listen() use");
  }
  if (asio::io_context* const io = find_asio_context(s)) return *io;
  auto* const loop = dynamic_cast<event_loop_scheduler*>(&s);
  if (!loop) {
    throw failure(errc::failed_precondition,
                  "this scheduler has no io_context: use that of an io_context, a runtime or an "
                  "embedded_scheduler for sockets");
  }
  if (scheduler::current() != &s) {
    throw failure(errc::failed_precondition,
                  "this embedded_scheduler has not used the network yet: let one of its tasks "
                  "begin, before another thread hands a connection to it");
  }
  loop->own_service<[](context_thread&, scheduler&) noexcept {}>(
      std::make_shared<context_thread>());
  return s.find_service<context_thread>()->context();
}

}  // namespace LEAT::detail
