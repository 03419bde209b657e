#include "leat/coordination/looper.hpp"

#include <utility>

#include "leat/async/internal/tick_schedule.hpp"
#include "leat/async/internal/yield_turn.hpp"
#include "leat/async/sleep.hpp"
#include "leat/async/task_group.hpp"
#include "leat/async/this_task.hpp"
#include "leat/base/error.hpp"

namespace LEAT {
namespace {

task<void> run_body(const std::function<task<void>()>& body, const looper_options& options) {
  scheduler& sched = this_task::get_scheduler();
  time_point due = sched.now();
  detail::tick_schedule schedule(due, options.interval.value_or(duration::zero()),
                                 options.missed_ticks);
  while (!this_task::stop_requested()) {
    task<void> call = body();
    co_await detail::untraced<void>{std::move(call)};
    schedule.advance(due);
    due = schedule.next(sched.now());
    if (due > sched.now()) {
      co_await sleep_until(due);
    } else {
      if (detail::is_turn_long(sched.now())) sched.yield_turn();  // timers and sockets are served
      co_await this_task::yield();
    }
  }
}

task<void> run_loop(std::function<task<void>()> body, looper_options options) {
  if (options.start_loop) co_await std::as_const(options).start_loop();
  std::exception_ptr error;
  try {
    task<void> calls = run_body(body, options);
    co_await detail::untraced<void>{std::move(calls)};
  } catch (...) {
    error = std::current_exception();
  }
  const bool stopped = this_task::stop_requested();
  const bool cut_short = stopped && to_error_code(error) == errc::cancelled;
  if (error && !cut_short) std::rethrow_exception(error);
  if (!options.stop_loop) co_return;
  task_group stop_loop_group(shielded, "stop_loop");
  stop_loop_group.spawn(std::as_const(options).stop_loop(), "stop_loop");
  co_await stop_loop_group.join();
}

}  // namespace

task<void> looper(std::function<task<void>()> body, looper_options options) {
  if (!body) throw failure(errc::invalid_argument, "looper: body is empty: pass a function");
  if (options.interval && *options.interval < duration::zero()) {
    throw failure(errc::invalid_argument, "looper: interval is " +
                                              std::to_string(options.interval->count()) +
                                              " ns: use 0 for calls without a pause, or more");
  }
  return run_loop(std::move(body), std::move(options));
}

}  // namespace LEAT
