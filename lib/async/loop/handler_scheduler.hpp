#pragma once

#include "leat/async/scheduler/scheduler.hpp"
#include "leat/base/asio.hpp"

#include LEAT_ASIO(execution_context.hpp)  // declares asio::io_context

namespace LEAT::detail {

/// An entry in the process-wide list of the schedulers of io_contexts, in which
/// find_scheduler_of_handler() searches.
class handler_scheduler {
 public:
  handler_scheduler(scheduler& s, asio::io_context& io) noexcept;
  handler_scheduler(const handler_scheduler&) = delete;
  handler_scheduler& operator=(const handler_scheduler&) = delete;
  ~handler_scheduler() { remove(); }

  /// Removes the entry, if it has not been removed: the scheduler ends.
  void remove() noexcept;

 private:
  friend scheduler* find_scheduler_of_handler() noexcept;

  scheduler& scheduler_;
  asio::io_context& io_;
  bool listed_ = true;
  handler_scheduler* previous_ = nullptr;
  handler_scheduler* following_ = nullptr;
};

}  // namespace LEAT::detail
