#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "leat/async/task.hpp"
#include "leat/base/braced.hpp"
#include "leat/base/clock.hpp"
#include "leat/base/internal/local_types.hpp"
#include "leat/base/internal/pimpl.hpp"
#include "leat/codec/event/event.hpp"

LEAT_LOCAL_TYPES_BEGIN

namespace LEAT {

/// Options of an event_writer.
struct event_writer_options {
  std::size_t max_queue = 10;                           ///< queued events; further adds wait
  duration flush_interval = std::chrono::seconds(120);  ///< longest time until an event is written
  std::size_t buffer_size = std::size_t{256} << 10;     ///< bytes collected for one write
  bool durable = false;                                 ///< every flush syncs the events to disk
  option_string suffix = {};                            ///< end of each file name
  option_string host = {};          ///< part of the file name; if empty, the name of the machine
  std::optional<int> process = {};  ///< part of the file name; if not set, the process ID
};

/// A writer of the events of a run, for TensorBoard: scalars, histograms, starts and ends.
///
///     auto writer = co_await leat::event_writer::open("runs/1");
///     co_await writer.add_scalar("loss", 0.5, step);
///     co_await writer.close();
///
/// The events are written to files in the directory, one file at a time. A file is named
/// `events.out.tfevents.TIME.HOST.PROCESS.N`:
///
/// - TIME is in whole seconds since 1970, in ten digits, and later than that of every existing
///   event file. The order of names is therefore the order of creation. The later one of two files
///   within a second has a TIME in the future, and so has a file after the clock was set back.
/// - N is the first number for which no file of this name exists.
///
/// The first event creates the file. The file header and this event are written immediately. Later
/// events are written after the flush interval, on flush(), or when the buffer is full.
///
/// An add pushes the event to a queue, which a task of the writer empties, and waits while the
/// queue is full. An add to a closed writer throws failed_precondition, and its event counts as
/// dropped.
///
/// If the file cannot be written, because the disk is full or the file was removed, no accepted
/// event is lost. The writer keeps the events and tries again at the next flush and after each
/// flush interval. Until a write succeeds, every add throws the error and accepts nothing, so the
/// memory stays bounded.
///
/// If there is no memory to buffer an accepted event, the writer tries once more after a write. If
/// that fails too, the event is lost and counts as dropped. The next flush() or close() that would
/// otherwise succeed then throws std::bad_alloc.
///
/// Call close() on every path before the writer is destroyed: the destructor asserts this.
/// with_event_writer() does it for you.
///
/// Errors:        an add throws invalid_argument for text that is not UTF-8, failed_precondition
///                after close(), the error of the last write, or cancelled.
/// Cancellation:  an add that is cancelled has added nothing. A stop of the task that opened the
///                writer does not stop the writer: events that were added are written.
/// Thread safety: adds and flush() are thread-safe, from tasks of any scheduler. open(), close()
///                and reopen() are thread-bound to the scheduler of open(), one at a time. No add
///                may be in progress during a reopen().
/// Cost:          an add serializes the event and passes it through a queue.
/// TensorFlow:    FileWriter and EventsWriter. Differs from TensorFlow: a second file within one
///                second does not replace the first. TensorFlow drops an event that is added after
///                close(), with a warning. leat throws, because the program can remove the cause of
///                this loss, and hardly any program would check the result of an add.
class event_writer {
 public:
  /// Opens a writer, and creates the directory and its parents if they are missing.
  /// Errors: invalid_argument for an empty path or an option out of range; system errors of the
  ///         directory.
  [[nodiscard]] static task<event_writer> open(std::string directory, event_writer_options options);
  [[nodiscard]] static task<event_writer> open(std::string directory) {
    return open(std::move(directory), event_writer_options());
  }

  event_writer(event_writer&&) noexcept;
  event_writer& operator=(event_writer&&) = delete;
  ~event_writer();

  /// Adds a scalar, stored as a float32.
  task<void> add_scalar(std::string tag, double value, std::int64_t step = 0);

  /// Adds a histogram with the default buckets.
  /// Errors: invalid_argument, with the tag, for NaN or infinity.
  task<void> add_histogram(std::string tag, std::span<const double> values, std::int64_t step = 0);
  task<void> add_histogram(std::string tag, std::span<const float> values, std::int64_t step = 0);
  task<void> add_histogram(std::string tag, const histogram& values, std::int64_t step = 0);

  /// Adds a summary. Only the first value of each tag keeps its metadata; later values need none.
  task<void> add_summary(summary s, std::int64_t step = 0);

  /// Adds a serialized Summary. Errors: data_loss if `bytes` is not a Summary.
  task<void> add_summary_bytes(std::string_view bytes, std::int64_t step = 0);

  /// Records that the run starts, ends, or has saved a checkpoint. For read_events(), and for
  /// TensorBoard with `--load_fast=false`, each `start` after the first is a restart: it discards
  /// earlier values of that step and of later ones.
  task<void> add_session_log(session_log::status_type status, std::int64_t step = 0,
                             std::string checkpoint_path = {}, std::string message = {});

  /// Adds a serialized GraphDef.
  task<void> add_graph(std::string bytes);
  /// Adds a serialized MetaGraphDef.
  task<void> add_meta_graph(std::string bytes);

  /// Adds a serialized RunMetadata. Errors: invalid_argument if the tag was added before.
  task<void> add_run_metadata(std::string bytes, std::string tag, std::int64_t step = 0);

  /// Adds any event, with its own time. The other functions use the wall-clock time of the call.
  task<void> add_event(event_record e);

  /// Waits until all events that were added before are written to the file and, if `durable`,
  /// synced to disk. Does nothing if the writer is closed.
  /// Errors: unknown, with the name of the file, if the file was removed; system errors;
  ///         std::bad_alloc. After a failed sync every later one fails until close() and reopen():
  ///         see file::sync().
  [[nodiscard]] task<void> flush(bool durable = false);

  /// Writes all queued events, including those of adds that wait for free capacity, and closes the
  /// file. A second call does nothing. A writer to which no event was added has created no file.
  ///
  /// Errors: see flush(). After an error the writer accepts no events and may be destroyed. Events
  ///         that were not written are kept: another close() tries again, and reopen() writes them
  ///         to a new file.
  /// Cancellation: none.
  [[nodiscard]] task<void> close();

  /// Opens the writer again after a close(); the next event starts a new file. Does nothing while
  /// the writer is open.
  [[nodiscard]] task<void> reopen();

  /// Returns the directory that was passed to open().
  [[nodiscard]] const std::string& directory() const noexcept;
  /// Returns the path of the file that was created last; empty before the first file.
  /// Thread safety: thread-safe.
  [[nodiscard]] std::string path() const;
  /// Returns the number of events that were accepted. Thread safety: thread-safe.
  [[nodiscard]] std::uint64_t events_added() const noexcept;
  /// Returns the number of events that were dropped because the writer was closed or memory was
  /// lacking. Thread safety: thread-safe.
  [[nodiscard]] std::uint64_t events_dropped() const noexcept;

 private:
  class core;

  [[nodiscard]] core& get_core() const;
  [[nodiscard]] task<void> add_now(std::int64_t step, event_record::content what);
  explicit event_writer(std::unique_ptr<core> c) noexcept;

  detail::pimpl<core> core_;
};

/// Opens a writer, runs `body` with it, and closes the writer on every path. Throws the first
/// error, of the body or of close().
///
///     co_await leat::with_event_writer("runs/1", [&](leat::event_writer& writer) -> leat::task<> {
///       co_await writer.add_scalar("loss", 0.5, step);
///     });
///
/// Body: callable with event_writer&, returns task<void>; lives until the end, with its captures.
template <class Body>
task<void> with_event_writer(std::string directory, event_writer_options options, Body body) {
  event_writer writer = co_await event_writer::open(std::move(directory), std::move(options));
  std::exception_ptr first;
  try {
    co_await body(writer);
  } catch (...) {
    first = std::current_exception();
  }
  try {
    co_await writer.close();
  } catch (...) {
    if (!first) first = std::current_exception();
  }
  if (first) std::rethrow_exception(first);
}
template <class Body>
task<void> with_event_writer(std::string directory, Body body) {
  return with_event_writer(std::move(directory), event_writer_options(), std::move(body));
}

}  // namespace LEAT

LEAT_LOCAL_TYPES_END
