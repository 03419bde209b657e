#pragma once

#include <cstddef>

#include "leat/async/scheduler/work_item.hpp"
#include "leat/async/task_context.hpp"

namespace LEAT {

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

  explicit stop_notice(scheduler* s) noexcept : sched(s) {}

  task_context* next = nullptr;      // whose wait is to be cancelled
  stop_notice* following = nullptr;  // of the same scope
  scheduler* sched;                  // may be gone when it has no task of the scope; null: none
  // If a stop is cleared and requested again while a notice is being delivered, the notice serves
  // the second request: it cannot be in a run queue twice.
  bool is_posted = false;
  bool is_due = false;  // and finish_stop() has yet to post it
  // These are set later, because a scope is created more often than stopped.
  bool begins;        // with the first task, whatever `next` is; set by a stop
  task_scope* scope;  // set when it is posted, as is run_
  std::size_t tasks;  // in the first notice of a scope only while a stop begins: the others' rest
};

}  // namespace detail
}  // namespace LEAT
