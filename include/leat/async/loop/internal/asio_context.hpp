#pragma once

#include "leat/async/scheduler/scheduler.hpp"
#include "leat/base/asio.hpp"

#include LEAT_ASIO(execution_context.hpp)  // declares asio::io_context

namespace LEAT::detail {

/// Returns the io_context for the sockets and timers of the tasks of `s`: its own one, or for a
/// scheduler without one a context that this function creates. A thread, which ends with the
/// scheduler, runs it; handlers run on the scheduler, as always.
///
/// Errors: failed_precondition, if it must be created and this is not the thread of `s`, or if `s`
///         is a scheduler of the program; system errors; std::bad_alloc.
[[nodiscard]] asio::io_context& asio_context_of(scheduler& s);

/// Like asio_context_of(), but returns null in place of a context that does not exist.
[[nodiscard]] asio::io_context* find_asio_context(scheduler& s) noexcept;

}  // namespace LEAT::detail
