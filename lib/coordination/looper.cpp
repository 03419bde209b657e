#include "leat/coordination/looper.hpp"

#include <utility>

#include "leat/async/sleep.hpp"
#include "leat/async/task_group.hpp"
#include "leat/async/this_task.hpp"
#include "leat/base/error.hpp"

namespace leat {
namespace {

// The times at which the body is due.
class schedule {
 public:
  schedule(time_point begin, const looper_options& options) noexcept
      : next_(begin),
        interval_(options.interval.value_or(duration::zero())),
        skips_missed_(options.missed_ticks == missed_tick_policy::skip) {}

  [[nodiscard]] time_point next() const noexcept { return next_; }

  void called(time_point now) noexcept {
    next_ = deadline_after(next_, interval_);
    if (!skips_missed_ || next_ >= now || interval_ == duration::zero()) return;
    const duration past = (now - next_) % interval_;
    next_ = past == duration::zero() ? now : deadline_after(now, interval_ - past);
  }

 private:
  time_point next_;
  const duration interval_;
  const bool skips_missed_;
};

task<void> run_body(const std::function<task<void>()>& body, const looper_options& options) {
  scheduler& sched = co_await this_task::get_scheduler();
  schedule due(sched.now(), options);
  while (!co_await this_task::stop_requested()) {
    task<void> call = body();
    co_await detail::untraced<void>{std::move(call)};
    due.called(sched.now());
    if (due.next() > sched.now()) {
      co_await sleep_until(due.next());
    } else {
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
  const bool stopped = co_await this_task::stop_requested();
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

}  // namespace leat
