#pragma once

#include <cstddef>

#include "leat/async/scheduler/work_item.hpp"
#include "leat/async/task_context.hpp"

namespace leat {

class scheduler;
class task_scope;

namespace detail {

/// Tells one scheduler that a scope was stopped. It walks the tasks of this scheduler, on its
/// thread, in batches. A batch ends while its memory is still in the cache, and other tasks run
/// between two batches. All members are guarded by the scope's mutex.
struct stop_notice : work_item {
  // Continues at `c`, or at the first later task of this scheduler. Such a task ends on this
  // thread, and task_scope::finish() then advances to the next one.
  void set_next(task_context* c) noexcept {
    while (c && c->scheduler_ != sched) c = c->following_;
    next = c;
  }

  task_scope* scope = nullptr;  // set when it is posted, as is run_
  scheduler* sched = nullptr;   // null: not used yet; may be gone when `tasks` is 0
  // If a stop is cleared and requested again while a notice is being delivered, the notice serves
  // the second request: it cannot be in a run queue twice.
  std::size_t tasks = 0;
  task_context* next = nullptr;      // whose wait is to be cancelled
  stop_notice* following = nullptr;  // of the same scope
  bool is_posted = false;
  bool is_due = false;  // and finish_stop() has yet to post it
  bool begins = false;  // with the first task, whatever `next` is
};

}  // namespace detail
}  // namespace leat
