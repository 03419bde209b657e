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
#include "leat/base/detail/pimpl.hpp"
#include "leat/codec/event/event.hpp"

namespace leat {

/// How events are written.
struct event_writer_options {
  std::size_t max_queue = 10;                           ///< events on their way; more wait
  duration flush_interval = std::chrono::seconds(120);  ///< events reach the file at least so often
  std::size_t buffer_size = std::size_t{256} << 10;     ///< bytes collected for one write
  bool durable = false;             ///< every flush waits until the events are on the device
  braced<std::string> suffix = {};  ///< behind the name of each file
  braced<std::string> host = {};    ///< in the name; empty: that of the machine
  std::optional<int> process = {};  ///< in the name; none: the number of this process
};

/// Writes the events of a run for TensorBoard: scalars, histograms, beginnings and ends.
///
///     auto writer = co_await leat::event_writer::open("runs/1");
///     co_await writer.add_scalar("loss", 0.5, step);
///     co_await writer.close();
///
/// The events go to files of the directory, one at a time, named
/// `events.out.tfevents.TIME.HOST.PROCESS.N`: TIME in whole seconds since 1970, in ten digits, and
/// behind that of all event files which are there, so that the order of names is the order of
/// beginnings: of two within a second, or when the clock was set back, the later one is given a
/// second of the future. N is the first number with which nobody has the name. A file is made with
/// the first event. What it begins with, and its first event, reach it at once; what follows after
/// the flush interval, a flush(), or when the buffer is full.
///
/// To add is to put into a queue, which a task of the writer empties. An add waits while the queue
/// is full. An add to a closed writer throws failed_precondition and counts as dropped. TensorFlow
/// drops such an event with a warning; leat throws, because the loss has a cause that the program
/// can remove, and the result of an add would hardly ever be checked.
///
/// When the file cannot be written (the disk is full, somebody has removed the file) nothing that
/// was taken is lost: it is kept, and tried again at the next flush and after each flush interval.
/// Until that goes well every add throws the error and takes nothing, so the memory stays bounded.
/// An event for which there is no memory when it is to be buffered, nor behind a write, is lost: it
/// counts as dropped, and a flush() or the close() that goes well otherwise throws std::bad_alloc.
///
/// Close it before it ends, on every way out; its destructor asserts that. with_event_writer() sees
/// to it.
///
/// Errors:        of an add: invalid_argument for a text that is not UTF-8; failed_precondition
///                after close(); what the last write has failed with; cancelled.
/// Cancellation:  an add that is cancelled has added nothing. A stop of the task that opened the
///                writer does not stop the writer: what was added is written.
/// Thread safety: adds and flush() are thread-safe, from tasks of any scheduler; open(), close()
///                and reopen() are thread-bound to the scheduler of open(), one at a time, and no
///                add is under way during a reopen().
/// Cost:          an add serializes the event, and one trip through a queue.
/// TensorFlow:   FileWriter and EventsWriter; where a second file within one second
///                takes the place of the first.
class event_writer {
 public:
  /// Makes the directory, and those above it, where they are missing.
  /// Errors: invalid_argument for an empty path and an option out of range; of the system, for the
  ///         directory.
  [[nodiscard]] static task<event_writer> open(std::string directory, event_writer_options options);
  [[nodiscard]] static task<event_writer> open(std::string directory) {
    return open(std::move(directory), event_writer_options());
  }

  event_writer(event_writer&&) noexcept;
  event_writer& operator=(event_writer&&) = delete;
  ~event_writer();

  /// A scalar, stored as a float32.
  task<void> add_scalar(std::string tag, double value, std::int64_t step = 0);

  /// With the default buckets. Errors: invalid_argument for NaN or infinity, with the tag.
  task<void> add_histogram(std::string tag, std::span<const double> values, std::int64_t step = 0);
  task<void> add_histogram(std::string tag, std::span<const float> values, std::int64_t step = 0);
  task<void> add_histogram(std::string tag, const histogram& values, std::int64_t step = 0);

  /// Of each tag only the first value keeps its metadata; the later ones need none.
  task<void> add_summary(summary s, std::int64_t step = 0);

  /// A serialized Summary. Errors: data_loss when it is none.
  task<void> add_summary_bytes(std::string_view bytes, std::int64_t step = 0);

  /// That the run begins, ends, or has stored a checkpoint. A reader takes a second `start` as a
  /// restart, and forgets what it has read of that step and later ones.
  task<void> add_session_log(session_log::status_type status, std::int64_t step = 0,
                             std::string checkpoint_path = {}, std::string message = {});

  /// Serialized messages GraphDef and MetaGraphDef.
  task<void> add_graph(std::string bytes);
  task<void> add_meta_graph(std::string bytes);

  /// A serialized RunMetadata. Errors: invalid_argument for a tag that was there before.
  task<void> add_run_metadata(std::string bytes, std::string tag, std::int64_t step = 0);

  /// Any event, at its own time; the others have the time on the wall at which they are added.
  task<void> add_event(event_record e);

  /// Waits until everything that was added before is in the file; `durable`, on the device.
  /// Nothing to do for a closed writer.
  /// Errors: unknown, with its name, when somebody has removed the file; of the system;
  ///         std::bad_alloc. Behind a sync that failed each other one fails, until close() and
  ///         reopen(): see file::sync().
  [[nodiscard]] task<void> flush(bool durable = false);

  /// Writes what is waiting, those adds included that wait for room, and closes the file. A second
  /// close does nothing. A writer to which nothing was added has made no file.
  ///
  /// Errors: as flush(); std::bad_alloc. The writer takes no event any more, and may end; what was
  ///         not written is kept, and another close() tries again, or reopen() puts it into another
  ///         file.
  /// Cancellation: none.
  [[nodiscard]] task<void> close();

  /// Goes on after a close(): the next event begins a new file. Nothing to do while it is open.
  [[nodiscard]] task<void> reopen();

  /// As it was opened.
  [[nodiscard]] const std::string& directory() const noexcept;
  /// Of the file that was made last; empty before the first. Thread safety: thread-safe.
  [[nodiscard]] std::string path() const;
  /// Events that were taken, and that were dropped: the writer was closed, or there was no memory.
  /// Thread safety: thread-safe.
  [[nodiscard]] std::uint64_t events_added() const noexcept;
  [[nodiscard]] std::uint64_t events_dropped() const noexcept;

 private:
  class core;

  [[nodiscard]] core& get_core() const;
  [[nodiscard]] task<void> add_now(std::int64_t step, event_record::content what);
  explicit event_writer(std::unique_ptr<core> c) noexcept;

  detail::pimpl<core> core_;
};

/// Opens a writer, runs the body with it and closes it, on every way out. The first error, of the
/// body or of the close, is thrown.
///
///     co_await leat::with_event_writer("runs/1", [&](leat::event_writer& writer) -> leat::task<> {
///       co_await writer.add_scalar("loss", 0.5, step);
///     });
///
/// Body: callable with event_writer&, gives task<void>; lives until the end, captures and all.
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

}  // namespace leat
