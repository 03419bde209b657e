#pragma once

#include <memory>

#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/scheduler/service_key.hpp"
#include "leat/base/asio.hpp"

#include LEAT_ASIO(execution_context.hpp)  // declares asio::io_context

namespace LEAT::detail {

/// Returns the io_context for the sockets and timers of the tasks of `s`: its own one, or for a
/// scheduler without one a context that this function creates. A thread, which ends with the
/// scheduler, runs it; handlers run on the scheduler, as always.
///
/// Errors: failed_precondition, if it must be created and this is not the thread of `s`, or if `s`
///         is simulated or a scheduler of the program; system errors; std::bad_alloc.
[[nodiscard]] asio::io_context& asio_context_of(scheduler& s);

/// The io_context of a simulated scheduler, for code of Asio that needs one although it neither
/// waits for the kernel nor for real time, such as asio::ssl::stream. Created on first use.
class simulated_asio_context {
 public:
  static const service_key key;

  simulated_asio_context() noexcept;
  ~simulated_asio_context();
  simulated_asio_context(const simulated_asio_context&) = delete;
  simulated_asio_context& operator=(const simulated_asio_context&) = delete;

  /// Errors: system errors; std::bad_alloc.
  [[nodiscard]] asio::io_context& get();
  /// Runs the handlers that are ready, on their schedulers. Called after each step.
  void poll() {
    if (io_) poll_created();
  }

 private:
  void poll_created();

  std::unique_ptr<asio::io_context> io_;
};

/// Returns the context of a simulated scheduler. For others it is like asio_context_of(), but
/// returns null in place of a context that does not exist.
[[nodiscard]] asio::io_context* find_asio_context(scheduler& s) noexcept;

}  // namespace LEAT::detail
