#pragma once

#include "leat/async/scheduler/service_key.hpp"
#include "leat/base/clock.hpp"
#include "leat/base/process_identity.hpp"

namespace LEAT {

namespace detail {
class signal_receiver;
}  // namespace detail

/// The service that replaces what a program sees of its own process: the time of day, the name of
/// the machine, the process ID and the signals. Schedulers without it use the operating system's.
///
/// Thread safety: thread-bound to the schedulers that have this service.
class process_environment {
 public:
  static const service_key key;  ///< See scheduler::find_service().

  process_environment() = default;
  process_environment(const process_environment&) = delete;
  process_environment& operator=(const process_environment&) = delete;

  /// Returns the time of day.
  [[nodiscard]] virtual wall_time_point wall_time() const noexcept = 0;

  /// Returns the name of the machine and the process ID. Errors: std::bad_alloc.
  [[nodiscard]] virtual process_identity identity() const = 0;

  /// Delivers a signal: the stop_on_signal guards on the schedulers of this process stop their
  /// scopes, in a turn of these schedulers. Returns false if there is no guard for the signal, or
  /// if every such guard has already received one.
  bool raise(int signal) noexcept;

  /// The newest of the guards. For detail::signal_receiver.
  [[nodiscard]] detail::signal_receiver*& receivers() noexcept { return receivers_; }

 protected:
  ~process_environment() = default;

 private:
  detail::signal_receiver* receivers_ = nullptr;
};

}  // namespace LEAT
