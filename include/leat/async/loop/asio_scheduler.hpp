#pragma once

#include <memory>

#include "leat/async/scheduler/scheduler.hpp"
#include "leat/base/asio.hpp"

#include LEAT_ASIO(execution_context.hpp)  // declares asio::io_context and costs little

namespace LEAT {

/// Options of the scheduler in an io_context. The defaults suit a server that has other work.
struct asio_scheduler_options {
  /// The maximum number of work items in one turn, after which sockets and timers are served.
  std::size_t max_items_per_turn = 256;
  /// The number of times that a turn checks for work of other threads before it sleeps. A check
  /// takes about 10 to 40 ns. Use 0 in a loop that must not lose a microsecond, and some hundreds
  /// in a loop that queues feed. After 32 turns in a row that found none, 15 of 16 do not check.
  int spins_before_sleep = 0;
};

/// Returns the scheduler of an io_context. It is created on first use and destroyed with the
/// context.
///
/// The threads that run the context run the scheduler; leat starts no thread for it. If several
/// threads run the context, the scheduler is still one logical thread, like a strand. Asio sees one
/// handler for each burst of work.
///
/// run() does not return while a task lives. The destruction of the context destroys the tasks that
/// have not finished, and reports them to their owners as cancelled: see docs/lifetimes.md.
///
///     asio::io_context io;
///     leat::scheduler& s = leat::get_scheduler(io);
///
/// Thread safety: thread-safe.
[[nodiscard]] scheduler& get_scheduler(asio::io_context& io);

/// Like get_scheduler(io), but with options, which apply only if this call creates the scheduler.
/// Errors: invalid_argument if max_items_per_turn is 0.
[[nodiscard]] scheduler& get_scheduler(asio::io_context& io, const asio_scheduler_options& options);

/// Returns the context of an Asio scheduler, or null for a scheduler of another kind.
[[nodiscard]] asio::io_context* get_io_context(scheduler& s) noexcept;

}  // namespace LEAT
