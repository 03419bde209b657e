#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "leat/async/dump/dump.hpp"
#include "leat/base/braced.hpp"
#include "leat/base/clock.hpp"
#include "leat/base/internal/pimpl.hpp"

namespace LEAT {

/// Options of dump_on_request.
struct dump_on_request_options {
  int signal = 0;      ///< the signal that requests a dump, such as SIGUSR1; 0: no signal
  int descriptor = 2;  ///< the descriptor for dumps; must stay open as long as the object lives
  option_string file = {};  ///< if set, dumps are appended to it, not to `descriptor`
  /// Format of the dumps: `text`, or `json` with one line for each dump.
  dump_format format = dump_format::text;
  /// How long a dump waits for the replies of all schedulers, and then for a descriptor that is
  /// full. It is written without the late replies. Text that a full pipe does not accept is lost.
  time_span patience = std::chrono::seconds(1);
};

/// Writes a dump on each request, by request() or by a signal.
///
///     leat::dump_on_request on_signal({.signal = SIGUSR1});  // kill -USR1 prints all tasks
///
/// The constructor starts a thread that waits for requests and writes with write(2). A request is
/// therefore safe in a signal handler, and it works while every scheduler is stuck: after
/// `patience`, the state of their tasks is reported as unknown. Only a thread that is stuck while
/// it holds a lock of the library, such as in the constructor of a value in a watch, delays the
/// dump further.
///
/// Each request is followed by a dump that starts after it. Requests that arrive while a dump is
/// being written share the next one. A text dump starts with the line "leat dump 1 of process
/// 4711"; a JSON dump is a single line.
///
/// The destructor restores the previous handler of the signal, unless other code has installed
/// another one in the meantime. Only one object at a time can handle a signal. The thread has all
/// signals blocked.
///
/// Thread safety: request() and written() are thread-safe.
/// Cost: a thread that sleeps, and an eventfd.
class dump_on_request {
 public:
  /// Errors: std::system_error if the file cannot be opened for writing, the signal cannot be
  /// handled, or no more descriptors or threads are available. already_exists if another object
  /// handles the signal.
  explicit dump_on_request(dump_on_request_options options = {});
  dump_on_request(const dump_on_request&) = delete;
  dump_on_request& operator=(const dump_on_request&) = delete;

  /// Writes the dumps that were requested before, and ends the thread. Blocks until the present
  /// dump and the next one are written: each may take twice the `patience`, and longer if a pipe is
  /// read slowly.
  ~dump_on_request();

  /// Requests a dump and returns immediately. Safe in a signal handler; preserves errno.
  void request() noexcept;

  /// Returns the number of dumps that have been written or could not be written. A full disk or a
  /// closed pipe is not an error here.
  [[nodiscard]] std::uint64_t written() const noexcept;

 private:
  class writer;
  class signal_handler;

  detail::pimpl<writer> writer_;
  detail::pimpl<signal_handler> handler_;
};

}  // namespace LEAT
