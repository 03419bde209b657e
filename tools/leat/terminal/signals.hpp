#pragma once

#include <functional>

#include <leat/async/loop/runtime.hpp>
#include <leat/async/task.hpp>

namespace tool {

/// Runs a task on each of `threads` threads and waits for all. The first error stops the others and
/// is thrown.
///
/// SIGINT, SIGTERM and SIGHUP, unless ignored, stop the tasks, which clean up as for any other
/// error. Then ended_by_signal is thrown. A second signal ends the process immediately. So does the
/// first one after half a second in which the output is not read.
void run_until_signal(unsigned threads, const std::function<leat::task<>()>& make);

/// Like run_until_signal(), but runs one task, which can use the other threads.
void run_one_until_signal(unsigned threads,
                          const std::function<leat::task<>(const leat::runtime& rt)>& make);

/// Ends the process by this signal, with its default action.
[[noreturn]] void end_by_signal(int number);

}  // namespace tool
