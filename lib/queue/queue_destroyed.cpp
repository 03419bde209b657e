#include <cstdlib>
#include <sstream>
#include <string>
#include <utility>

#include "async/dump/internal/dump_printers.hpp"
#include "async/internal/live_tasks_text.hpp"
#include "base/internal/exception_in_flight.hpp"
#include "base/internal/standard_error.hpp"
#include "leat/base/internal/assert.hpp"
#include "leat/queue/queue_base.hpp"

namespace LEAT {

// The destructor holds the lock, so the waiters and their tasks stay valid.
void queue_base::abort_destroyed_in_use() const noexcept LEAT_NO_ANALYSIS {
  detail::print_stderr(
      "leat: queue '%s' destroyed while operations wait on it: close() it and join the "
      "waiting tasks and threads first\n",
      name_.c_str());
  detail::print_exception_in_flight();
  try {
    for (const waiter_list<detail::queue_waiter>* wait_queue : {&pushers_, &poppers_}) {
      for (const detail::queue_waiter* w = wait_queue->first(); w;
           w = waiter_list<detail::queue_waiter>::after(*w)) {
        if (w == &close_marker_) continue;
        detail::waiting_operation operation = w->operation();
        if (const task_context* const task = w->waiting_task())
          operation.name = detail::name_of(*task);
        detail::print_stderr("  %s\n", detail::to_text(operation).c_str());
      }
    }
  } catch (...) {
    detail::write_stderr("  out of memory: operations not listed\n");
  }
  if (detail::assertion_note) detail::print_stderr("leat: %s\n", detail::assertion_note);
  std::abort();
}

}  // namespace LEAT
