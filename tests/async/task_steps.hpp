#pragma once

// Simple tasks, the stop of a task, and a stopwatch, for cases about tasks, groups and joins.

#include <chrono>
#include <stdexcept>
#include <stop_token>
#include <system_error>
#include <utility>

#include "leat/async.hpp"
#include "leat/base/clock.hpp"

namespace task_steps {

using namespace std::chrono_literals;

inline leat::task<> sleep(leat::duration d) { co_await leat::sleep_for(d); }
inline leat::task<> sleep_long() { co_await leat::sleep_for(1000h); }
inline leat::task<> count(int& n) {
  ++n;
  co_return;
}
inline leat::task<> count_after(int& n, leat::duration d) {
  co_await leat::sleep_for(d);
  ++n;
}
template <class Result = int>
leat::task<Result> fail_after(const char* what, leat::duration d) {
  co_await leat::sleep_for(d);
  throw std::runtime_error(what);
}
template <class Result = int>
leat::task<Result> fail_when_stopped(const char* what) {
  const auto slept = co_await leat::as_tuple(leat::sleep_for(1000h));
  throw std::runtime_error(slept.error ? what : "was not stopped");
}
inline leat::task<int> finish_despite_stop(int value) {
  co_await leat::as_tuple(leat::sleep_for(1000h));
  co_return value;
}
/// Sleeps for `d` and ignores every stop request: it joins a shielded group with the name "deaf".
inline leat::task<> sleep_despite_stop(leat::duration d) {
  leat::task_group deaf(leat::shielded, "deaf");
  deaf.spawn(sleep(d));
  co_await deaf.join();
}
inline leat::task<> request_stop_after(std::stop_source source, leat::duration d) {
  co_await leat::sleep_for(d);
  source.request_stop();
}

/// Runs a task, and stops it after 1 ms, or before it begins.
inline leat::task<> run_and_stop(leat::task<> t, bool before_start = false) {
  leat::task_group group;
  group.spawn(std::move(t));
  if (!before_start) co_await leat::sleep_for(1ms);
  group.request_stop();
  co_await group.join();
}

/// Awaits an operation in a task that run_and_stop() stops. Returns the code that as_tuple()
/// returns for the operation.
template <class Operation>
leat::task<std::error_code> code_of_stopped(Operation operation, bool before_start = false) {
  std::error_code code;
  const auto wait = [&]() -> leat::task<> {
    const auto result = co_await leat::as_tuple(std::move(operation));
    code = result.error;
  };
  co_await run_and_stop(wait(), before_start);
  co_return code;
}

/// Measures the time of the scheduler of the task that makes it.
class stopwatch {
 public:
  [[nodiscard]] leat::duration elapsed() const { return scheduler_.now() - begin_; }

 private:
  leat::scheduler& scheduler_ = leat::this_task::get_scheduler();
  const leat::time_point begin_ = scheduler_.now();
};

}  // namespace task_steps
