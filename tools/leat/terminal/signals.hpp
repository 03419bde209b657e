#pragma once

#include <functional>

#include <leat/async/loop/runtime.hpp>
#include <leat/async/task.hpp>

namespace tool {

/// Runs a task on each of `threads` threads and waits for all; the first error stops the others and
/// is thrown.
///
/// SIGINT, SIGTERM and SIGHUP, where they are not ignored, stop the tasks, which clean up as for
/// any other error: then ended_by_signal is thrown. A second signal ends the process at once, and
/// so does the first one after half a second in which nobody reads what is being printed.
void run_until_signal(unsigned threads, const std::function<leat::task<>()>& make);

/// The same of one task, on the first of `threads` threads, which has the others for its work.
void run_one_until_signal(unsigned threads,
                          const std::function<leat::task<>(const leat::runtime& rt)>& make);

/// Ends the process by this signal, as if nobody had intervened.
[[noreturn]] void end_by_signal(int number);

}  // namespace tool
