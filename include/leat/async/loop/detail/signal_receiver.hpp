#pragma once

#include "leat/async/scheduler.hpp"

namespace leat::detail {

/// A guard that receives the signals of a simulation; see sim::world::raise(). It is in the list of
/// its OS thread, which runs all threads of the simulation.
///
/// Thread safety: thread-bound to the OS thread that constructed it.
class signal_receiver {
 public:
  signal_receiver(const signal_receiver&) = delete;
  signal_receiver& operator=(const signal_receiver&) = delete;

  [[nodiscard]] scheduler& get_scheduler() const noexcept { return scheduler_; }

  /// First and next receiver of the calling thread; null at the end.
  static signal_receiver* first() noexcept { return newest_; }
  static signal_receiver* next(const signal_receiver& r) noexcept { return r.following_; }

  /// Returns false if it does not handle this signal or has received one before. Destroys no
  /// receiver.
  [[nodiscard]] virtual bool receive(int signal) noexcept = 0;

 protected:
  explicit signal_receiver(scheduler& sched) noexcept;
  ~signal_receiver();

 private:
  static constinit thread_local signal_receiver* newest_;

  scheduler& scheduler_;
  signal_receiver* previous_ = nullptr;
  signal_receiver* following_ = nullptr;
};

}  // namespace leat::detail
