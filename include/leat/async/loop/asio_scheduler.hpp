#pragma once

#include <memory>

#include <asio/execution_context.hpp>  // declares asio::io_context and costs little

#include "leat/async/scheduler.hpp"

namespace leat {

/// How a scheduler behaves inside its io_context. The defaults suit a server that has other work.
struct asio_scheduler_options {
  /// Work items run in one turn at most, before sockets and timers have theirs.
  std::size_t max_items_per_turn = 256;
  /// How often a turn looks for work of other threads before it sleeps; each look is about 10 to
  /// 40 ns. 0 on a loop that must not lose a microsecond; some hundreds where queues feed it.
  int spins_before_sleep = 0;
};

/// The scheduler that lives in an io_context: made on first use, destroyed with the context.
///
/// Whoever runs the context runs the scheduler; leat starts no thread. If several threads run the
/// context, the scheduler still is one logical thread, like a strand. Asio sees one handler for
/// each burst of work. run() does not return while a task lives. Tasks that live when the context
/// is destroyed are destroyed with it, and reported to their owners as cancelled: see
/// docs/lifetimes.md.
///
///     asio::io_context io;
///     leat::scheduler& s = leat::get_scheduler(io);
///
/// Thread safety: thread-safe.
[[nodiscard]] scheduler& get_scheduler(asio::io_context& io);

/// The same with options; they count only when this call makes the scheduler.
/// Errors: invalid_argument, for a turn of 0 items.
[[nodiscard]] scheduler& get_scheduler(asio::io_context& io, const asio_scheduler_options& options);

/// The context in which an Asio scheduler lives; null for a scheduler of another kind.
[[nodiscard]] asio::io_context* get_io_context(scheduler& s) noexcept;

}  // namespace leat
