#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "leat/async/task_id.hpp"
#include "leat/base/clock.hpp"

namespace LEAT {

/// The object of a wait in machine-readable form: the fields of a dump in JSON, and the tasks that
/// can end the wait. wait_operation::kind::inspect sets the fields that apply; the others stay
/// empty.
struct wait_target {
  std::string type = {};                     ///< "queue", "task group", ...
  std::string name = {};                     ///< empty if the object has no name
  std::optional<std::size_t> size = {};      ///< number of items in the object
  std::optional<std::size_t> capacity = {};  ///< number of items that fit; empty if unlimited
  /// Whether the object is closed; empty if it cannot be closed.
  std::optional<bool> closed = {};
  std::size_t asked = 1;  ///< number of items that the operation requested
  std::size_t done = 0;   ///< number of these items that it has moved

  /// The number of the scope whose tasks must all finish before the wait ends; 0 if there is none.
  std::uint64_t scope = 0;
  /// True if nothing else, such as a deadline, ends the wait for `scope`.
  bool certain = false;
  /// A stream of bytes on which an Asio operation waits: the state of a connection.
  struct stream {
    std::string state = {};    ///< as in connection_status
    std::size_t unread = 0;    ///< bytes that have arrived
    std::size_t unsent = 0;    ///< bytes that the peer has not acknowledged
    duration last_received{};  ///< since data last arrived; 0 if unknown
  };
  std::optional<stream> stream_state = {};  ///< empty if the object is no stream
  std::string operation = {};               ///< on a stream, such as "async_read_until"
  /// False if the caller does not need `stream_state`, which costs system calls.
  bool needs_state = true;

  /// The holder of a lock.
  struct hold {
    task_id task = {};             ///< none for a caller that is not a task
    std::source_location at = {};  ///< where it was locked
    duration lasted{};             ///< since then
  };
  std::optional<hold> holder = {};  ///< empty if the object is no lock, or its holder is not known
  /// Tasks each of which could end the wait, as far as known: the tasks that were seen to perform
  /// such an operation. An empty ID represents a caller that is not a task.
  std::vector<task_id> partners = {};
};

}  // namespace LEAT
