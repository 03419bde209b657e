#pragma once

#include <iosfwd>
#include <source_location>
#include <string>

#include "leat/base/clock.hpp"

namespace leat {

struct work_item;

/// Prints where everyone is: each owner (task group, coordinator, ...), its tasks, and for each
/// task what it waits for, on which object, since when, in which file and line, and through which
/// chain of awaiting tasks. Works in release builds; costs the program nothing until it is called.
///
///     coordinator 'training', 2 tasks
///       reader 0: pop from queue 'filenames' (0 of 32), at reader.cpp:41 in read_file, for 3.204 s
///         awaited at reader.cpp:77 in run_reader
///
/// Then the queues of the process: how full each one is, whether it is closed, and the operations
/// that wait on it, of tasks, Asio handlers and threads:
///
///     queue 'filenames' (0 of 32), 2 operations wait
///       pop of reader 0, at reader.cpp:41 in read_file
///       pop of an Asio handler, at server.cpp:80 in serve
///
/// Each scheduler reports on its own tasks, in its next turn. One that does not answer within
/// `patience` (its thread is busy, or no thread runs it), or has no memory for the answer, is
/// reported as such. If tasks wait for each other, the last lines name the cycle, with "probably"
/// unless no other task could end the waits.
///
/// Errors: std::bad_alloc; those of `out`.
/// Thread safety: thread-safe; from within a task too, and while contexts with schedulers are
/// destroyed: a scheduler that a dump asks is destroyed after it has answered.
/// Cost: a post to each scheduler that has tasks; text of about 200 bytes for each task and each
///       operation. Queues are not constructed or destroyed while it reads them. A queue that only
///       a thread without leat tasks used loses its cheap lock, unless that thread calls this; see
///       docs/debugging.md.
void dump(std::ostream& out, time_span patience = std::chrono::seconds(1));

/// For whom a dump is written.
enum class dump_format {
  text,  ///< for a person, as above
  json,  ///< for a program: one line of JSON; docs/debugging.md tells what is in it
};

/// The same in either form.
void dump(std::ostream& out, dump_format format, time_span patience = std::chrono::seconds(1));

namespace detail {

/// "file.cpp:12 in function", with the folder and the compiler's decoration left out.
[[nodiscard]] std::string to_text(const std::source_location& where);

/// What a ready item is about to do: "'reader' goes on after pop from queue 'q' (1 of 4), at ...".
/// For the thread that drives its scheduler.
[[nodiscard]] std::string to_text(const work_item& item);

}  // namespace detail
}  // namespace leat
