#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "leat/base/clock.hpp"

namespace LEAT {

namespace detail {
class trace_recorder;
}

/// Options of trace_file.
struct trace_file_options {
  /// The trace ends before the file becomes larger. At least 1 MiB. Viewers need several times the
  /// size of the file as memory.
  std::uint64_t max_bytes = std::uint64_t{256} << 20;
  /// The time between two samples of the sizes of all queues; zero: no samples. If the samples take
  /// more than 2 % of the time of a scheduler, it takes fewer.
  time_span queue_interval = std::chrono::milliseconds(10);
};

/// Records what the tasks of the process do, in a file that https://ui.perfetto.dev and
/// `leat trace` can read: Chrome's trace event format.
///
///     leat::trace_file trace("trace.json");  // until the end of its scope
///
/// The file shows for each scheduler when it ran which task, and for each task when it lived and
/// for what it waited. It shows the sizes of queues over time. A run of at least 50 µs names
/// the two `co_await`s between which the task ran. A scheduler that is simulated has virtual time.
///
/// The events go to a thread that writes them, at the latest after 250 ms: the file of a program
/// that is killed, or that calls std::exit() before this object is destroyed, lacks only the
/// last events. Viewers accept a file that is cut off. If the thread cannot write fast enough,
/// events are dropped rather than delaying the tasks, and the end of the file states their number.
///
/// In a child of fork(), nothing is recorded; the file belongs to the parent.
///
/// Thread safety: thread-compatible. Schedulers on different threads record without waiting for
///                each other.
/// Cost: about 1 µs and 400 bytes for each run of a task; up to 16 MiB of memory, and 200
///       bytes for each live task. Nothing after close(), or while no trace_file exists; see
///       task_hooks.
class trace_file {
 public:
  /// Creates the file, or replaces its contents, and begins to record.
  /// Errors: std::system_error if the file cannot be opened or no thread is available;
  ///         invalid_argument if an option is out of range; std::bad_alloc.
  explicit trace_file(std::string path, trace_file_options options = {});
  trace_file(const trace_file&) = delete;
  trace_file& operator=(const trace_file&) = delete;
  /// Like close(), but prints an error to standard error.
  ~trace_file();

  /// Ends the recording, writes what is left and closes the file. Blocks for the time that this
  /// takes. Events that other threads record during the call may be missing, and do not count as
  /// dropped. Further calls have no effect. If the trace has reached `max_bytes`, this is not an
  /// error: the last event of the file states it.
  /// Errors: std::system_error if the file could not be written, for example because the disk is
  ///         full. The message names the file and the offset; what was written before is a valid
  ///         trace that is cut off.
  void close();

 private:
  std::shared_ptr<detail::trace_recorder> recorder_;  // null: closed
};

}  // namespace LEAT
