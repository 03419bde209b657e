#pragma once

#include <iosfwd>
#include <source_location>
#include <string>

#include "leat/base/clock.hpp"

namespace LEAT {

struct work_item;

/// Prints the state of the whole process: each owner (task group, coordinator, ...) and its tasks.
///
/// For each task it prints the operation and the object that the task waits for, the duration of
/// the wait, its file and line, and the chain of awaiting tasks. It works in release builds, and
/// costs the program nothing until it is called.
///
///     coordinator 'training', 2 tasks
///       reader 0: pop from queue 'filenames' (0 of 32), at reader.cpp:41 in read_file, for 3.204 s
///         awaited at reader.cpp:77 in run_reader
///
/// The queues of the process follow: the number of items in each one, whether it is closed, and
/// the waiting operations of tasks, Asio handlers and threads:
///
///     queue 'filenames' (0 of 32), 2 operations wait
///       pop of reader 0, at reader.cpp:41 in read_file
///       pop of an Asio handler, at server.cpp:80 in serve
///
/// Each scheduler reports on its own tasks in its next turn. A scheduler that does not reply within
/// `patience`, because its thread is busy or no thread runs it, is reported as such. So is a
/// scheduler without memory for the answer.
///
/// If tasks wait for each other, the last lines name the cycle. They contain "probably" unless no
/// other task could end the waits.
///
/// Errors: std::bad_alloc; the errors of `out`. Waits while a nonblocking std::cerr is full.
/// Thread safety: thread-safe. You may call it in a task, and while contexts with schedulers are
/// destroyed: a scheduler that a dump queries is destroyed after it has answered.
/// Cost: a post to each scheduler that has tasks; about 200 bytes of text for each task and each
///       operation. The construction and destruction of queues wait while it reads the queues. If
///       only one thread has used a queue and that thread has no leat tasks, the queue loses its
///       cheap lock, unless that thread calls dump(); see docs/debugging.md.
void dump(std::ostream& out, time_span patience = std::chrono::seconds(1));

/// The format of a dump.
enum class dump_format {
  text,  ///< human-readable, as shown above
  json,  ///< machine-readable: one line of JSON, see docs/dump_format.md
};

/// Like dump(out, patience), but in the given format.
void dump(std::ostream& out, dump_format format, time_span patience = std::chrono::seconds(1));

namespace detail {

/// Returns "file.cpp:12 in function", without the folder and the compiler's decoration.
[[nodiscard]] std::string to_text(const std::source_location& where);

/// Describes what a ready item will do, such as to resume a task after a pop. Call it on the thread
/// that drives the item's scheduler.
[[nodiscard]] std::string to_text(const work_item& item);

}  // namespace detail
}  // namespace LEAT
