#pragma once

#include "leat/async/scheduler/process_environment.hpp"

namespace LEAT::detail {

/// A guard that receives the signals of a process_environment. It is in the list of that object.
///
/// Thread safety: thread-bound to the schedulers of its process_environment.
class signal_receiver {
 public:
  signal_receiver(const signal_receiver&) = delete;
  signal_receiver& operator=(const signal_receiver&) = delete;

  /// Returns false if it does not handle this signal or has received one before. Destroys no
  /// receiver.
  [[nodiscard]] virtual bool receive(int signal) noexcept = 0;

  /// Returns the receiver after `r`, or null.
  [[nodiscard]] static signal_receiver* next(const signal_receiver& r) noexcept {
    return r.following_;
  }

 protected:
  explicit signal_receiver(process_environment& process) noexcept;
  ~signal_receiver();

  [[nodiscard]] process_environment& process() const noexcept { return process_; }

  /// The first receiver of the process.
  [[nodiscard]] signal_receiver* first() const noexcept { return process_.receivers(); }

 private:
  process_environment& process_;
  signal_receiver* previous_ = nullptr;
  signal_receiver* following_ = nullptr;
};

}  // namespace LEAT::detail
