#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "leat/async/task_id.hpp"
#include "leat/base/braced.hpp"
#include "leat/base/clock.hpp"

namespace LEAT {

/// A task that holds its event loop, or has held it, for longer than the threshold.
struct long_turn {
  std::string task;        ///< its name, or "task spawned at main.cpp:31 in run"
  task_id id;              ///< unique for the life of the process
  std::string spawned_at;  ///< "main.cpp:31 in run"
  /// Where the task last waited, such as "pop at reader.cpp:41 in read_file", and then the places
  /// at which tasks awaited each other, the innermost first. The task runs code after the first
  /// place. Empty if it has not waited yet.
  std::vector<std::string> waited_at;
  duration lasted{};          ///< time since the task resumed
  bool has_ended = false;     ///< false: the task still holds the loop
  std::string until;          ///< where it waits now, or "the end of the task"; empty while it runs
  std::size_t scheduler = 0;  ///< the label of its scheduler in metrics()
  int thread = 0;             ///< the thread that runs it, as gettid() returns it
  std::uint64_t omitted = 0;  ///< long runs that the rate limit has omitted since the last report
  bool was_reported = false;  ///< there was a report of this run before
  /// The names and values of the named task-locals, such as the ID of a request, innermost first.
  /// Empty until the run has ended, and if the task has ended.
  std::vector<std::pair<std::string, std::string>> values = {};
};

/// Returns the text that warn_on_long_turns prints: lines that end with '\n'.
/// Errors: std::bad_alloc. Thread safety: thread-safe.
[[nodiscard]] std::string to_text(const long_turn& turn);

/// Options of warn_on_long_turns.
struct long_turn_options {
  /// Called with each report, instead of printing it to standard error, on a thread of its own. It
  /// must not throw, and must not wait for the loop that the task holds.
  braced<std::function<void(const long_turn&)>> on_report = {};
  /// The most runs that are reported in any minute. Further ones are counted in `omitted`. One that
  /// still holds its loop when the limit permits it is reported then.
  std::size_t reports_per_minute = 20;
};

/// Reports each task that holds its event loop for longer than a threshold, while it still holds
/// it: the watchdog for code that blocks or computes between two `co_await`s.
///
///     leat::warn_on_long_turns watchdog(std::chrono::milliseconds(50));  // until its scope ends
///
///     leat: task 'parse' has held its loop for 52 ms (scheduler 0, thread 4711)
///       since pop at parser.cpp:41 in parse_all
///       awaited at parser.cpp:77 in run_parser
///       spawned at main.cpp:31 in run
///     leat: task 'parse' held its loop for 1.203 s, until push at parser.cpp:50 in parse_all
///
/// The first report names the last wait of the task and the awaits that led to it. The last one
/// follows when the task has given way, and names the next wait and the task-locals. The code that
/// held the loop lies between these two waits. While the task holds the loop, the report is
/// repeated after 10 times, 100 times ... as long. To see the stack, attach a debugger to the
/// thread.
///
/// It watches the tasks of all schedulers of the process, on any event loop. Tasks that run when it
/// is constructed are watched from their next resumption on. It does not see Asio handlers that run
/// outside of tasks, nor coroutines of other libraries. It ignores simulated schedulers, because a
/// turn takes no virtual time. A task is also reported if the operating system does not run its
/// thread, for example on a busy machine.
///
/// While an object exists, metrics() also contains the busy time, the longest turn and the number
/// of long turns of each scheduler. Several objects may exist, each with a threshold of its own;
/// a turn counts as long if it lasts for the smallest threshold.
///
/// In a child of fork(), nothing is reported.
///
/// Thread safety: thread-compatible. Construct and destroy it on any thread, but not in a hook and
///                not in `on_report`.
/// Cost: a thread that wakes up four times in a threshold, but at most once in a millisecond.
///       About 0.1 µs for each run of a task while it exists. Otherwise nothing: the tasks test the
///       pointer that they test for hooks, see task_hooks.
class warn_on_long_turns {
 public:
  /// Errors: invalid_argument if the threshold is not positive, or reports_per_minute is 0;
  ///         std::system_error if no thread is available; std::bad_alloc.
  explicit warn_on_long_turns(time_span threshold, long_turn_options options = {});
  warn_on_long_turns(const warn_on_long_turns&) = delete;
  warn_on_long_turns& operator=(const warn_on_long_turns&) = delete;
  /// Ends the thread, after it has reported the runs that have ended. No report begins afterwards.
  ~warn_on_long_turns();

 private:
  class watcher;
  std::shared_ptr<watcher> watcher_;
};

}  // namespace LEAT
