#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "leat/async/dump/dump.hpp"
#include "leat/base/braced.hpp"
#include "leat/base/clock.hpp"
#include "leat/base/detail/pimpl.hpp"

namespace leat {

/// How and where a dump_on_request writes.
struct dump_on_request_options {
  int signal = 0;      ///< one that asks for a dump, such as SIGUSR1; 0: none does
  int descriptor = 2;  ///< where dumps are written; stays open as long as the object lives
  braced<std::string> file = {};  ///< if set, dumps are appended to it, not to `descriptor`
  dump_format format = dump_format::text;
  time_span patience = std::chrono::seconds(1);  ///< as for dump()
};

/// Writes a dump whenever it is asked to: by request(), or by a signal.
///
///     leat::dump_on_request on_signal({.signal = SIGUSR1});  // kill -USR1 tells where everyone is
///
/// A thread, started by the constructor, waits for requests and writes with write(2). So a request
/// is safe in a signal handler, and it works while every scheduler is stuck: their tasks are then
/// reported as not known. Each request is followed by a dump that begins after it; requests that
/// come in while one is written share the next one. In front of a dump in text stands the line
/// "leat dump 1 of process 4711"; one in JSON is a line by itself.
///
/// The signal's handler of before is put back by the destructor, unless somebody has set another
/// one meanwhile. One object at a time can have a signal. The thread has all signals blocked.
///
/// Thread safety: request() and written() are thread-safe.
/// Cost: a thread that sleeps, and an eventfd.
class dump_on_request {
 public:
  /// Errors: std::system_error, when the file cannot be opened for writing, the signal cannot be
  /// handled, or there are no descriptors or threads left; failure with already_exists when another
  /// object has the signal.
  explicit dump_on_request(dump_on_request_options options = {});
  dump_on_request(const dump_on_request&) = delete;
  dump_on_request& operator=(const dump_on_request&) = delete;

  /// Writes what was asked for before, and ends the thread: it takes up to a dump's patience.
  ~dump_on_request();

  /// Asks for a dump and returns at once. Safe in a signal handler; keeps errno.
  void request() noexcept;

  /// Dumps that have been written, or could not be: a full disk or a closed pipe is no error here.
  [[nodiscard]] std::uint64_t written() const noexcept;

 private:
  class writer;
  class signal_handler;

  detail::pimpl<writer> writer_;
  detail::pimpl<signal_handler> handler_;
};

}  // namespace leat
