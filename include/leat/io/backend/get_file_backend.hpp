#pragma once

#include <string>

#include "leat/async/scheduler/scheduler.hpp"
#include "leat/files/file_backend.hpp"

namespace LEAT {

/// The choice of the file backend for schedulers that are not simulated.
enum class file_backend_choice {
  automatic,  ///< io_uring if the system allows it, otherwise threads
  io_uring,
  threads,  ///< worker threads with preadv2
};

/// Returns the file backend of a scheduler, and creates it on first use. A simulated scheduler has
/// its own.
///
/// The environment variable LEAT_IO=uring|threads overrides `automatic`.
///
/// Errors: failed_precondition for a scheduler that has neither a real event loop nor a backend of
///         its own; unavailable if `io_uring` was chosen by name and the system refuses it;
///         invalid_argument for another value of LEAT_IO.
/// Thread safety: thread-bound to the scheduler.
[[nodiscard]] file_backend& get_file_backend(
    scheduler& s, file_backend_choice choice = file_backend_choice::automatic);

/// Returns the reason for the choice of `automatic` in one sentence, such as "io_uring" or
/// "threads: io_uring is refused", the latter with the error of the system. If only some schedulers
/// of the process were refused a ring, such as for lack of descriptors, the text includes their
/// number. Thread safety: thread-safe.
[[nodiscard]] std::string file_backend_reason();

}  // namespace LEAT
