#pragma once

#include <concepts>
#include <csignal>
#include <initializer_list>
#include <memory>
#include <span>

#include "leat/async/scheduler/scheduler.hpp"

namespace LEAT {

/// A scope whose stop can wait for the end of the current step, such as a supervisor.
template <class Scope>
concept stoppable_after_step = requires(Scope& scope) { scope.request_stop_after_step(); };

/// A scope that accepts a stop request, such as a task group or a coordinator.
template <class Scope>
concept stoppable = stoppable_after_step<Scope> || requires(Scope& scope) { scope.request_stop(); };

/// Requests a stop of a task group, coordinator or supervisor when the process receives a signal.
///
///     leat::coordinator coord;
///     leat::stop_on_signal guard(coord, {SIGINT, SIGTERM});  // declared after the scope
///
/// The first signal requests the stop, in the scheduler's next loop iteration; a supervisor stops
/// after its current step. The second signal has its default effect, also while the program stops
/// or saves its state: it usually terminates the process.
///
/// - Several guards may exist. A signal stops the scopes of all guards that handle it and have not
///   received one yet. It has its default effect if there is no such guard.
/// - A guard that is destroyed with a signal that it has received, before its scheduler has run and
///   before the program has called signal(), raises the signal again.
/// - An asio::signal_set that has the signal receives it too, whichever of the two was constructed
///   first. As long as a set has it, the signal never has its default effect, and no guard raises
///   it again.
/// - A signal that is ignored when the first guard for it is constructed stays ignored, as after
///   nohup(1). The last guard for a signal restores the earlier handler, unless other code has
///   installed another one in the meantime.
/// - In a child process that was created by fork(), the guards of the parent do nothing: a signal
///   has its default effect. execve() resets the handlers.
/// - The exit status is that of main(): a program that stops and returns 0 exits with 0.
/// - On a simulated scheduler a guard receives the signals of sim::world::raise(), and no others.
///
/// The guard counts as work of its scheduler's event loop, so `io_context::run()` does not return
/// before the guard is destroyed: construct it in a task. It needs no thread.
///
/// If the scheduler is destroyed before the guard, the signals have their earlier effect from then
/// on.
///
/// Precondition:  the scope outlives the guard.
/// Thread safety: thread-bound to its scheduler; signals may arrive on any thread.
/// Cost:          an eventfd. A signal costs one write and one wakeup.
class stop_on_signal {
 public:
  /// Starts to handle `signals`, on the scheduler of the calling task.
  ///
  /// Errors:
  /// - failed_precondition outside a task or scheduler;
  /// - invalid_argument for an empty list, a number that is not a signal, or a signal that reports
  ///   a fault, such as SIGSEGV;
  /// - resource_exhausted for more than 32 guards in a process;
  /// - the errors of the system;
  /// - std::bad_alloc.
  template <stoppable Scope>
  explicit stop_on_signal(Scope& scope, std::initializer_list<int> signals = {SIGINT, SIGTERM})
      : stop_on_signal(scheduler::current(), &scope, &request<Scope>,
                       {signals.begin(), signals.end()}) {}

  /// Starts to handle `signals` on a scheduler that the calling thread runs, outside its tasks.
  template <stoppable Scope>
  stop_on_signal(scheduler& on, Scope& scope, std::initializer_list<int> signals)
      : stop_on_signal(on, scope, std::span(signals.begin(), signals.end())) {}
  template <stoppable Scope>
  stop_on_signal(scheduler& on, Scope& scope, std::span<const int> signals)
      : stop_on_signal(&on, &scope, &request<Scope>, signals) {}

  stop_on_signal(const stop_on_signal&) = delete;
  stop_on_signal& operator=(const stop_on_signal&) = delete;
  ~stop_on_signal();

  /// Returns the signal that requested the stop, or 0. Thread safety: thread-safe.
  [[nodiscard]] int signal() const noexcept;

 private:
  using stop_function = void (*)(void* scope);
  class state;
  class process_state;
  class simulated_state;

  template <class Scope>
  static void request(void* scope) {
    auto& stopped = *static_cast<Scope*>(scope);
    if constexpr (stoppable_after_step<Scope>) {
      stopped.request_stop_after_step();
    } else {
      stopped.request_stop();
    }
  }

  stop_on_signal(scheduler* sched, void* scope, stop_function stop, std::span<const int> signals);

  state* state_ = nullptr;  // deletes itself after its last wakeup; null where there are no signals
};

}  // namespace LEAT
