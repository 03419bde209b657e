#pragma once

// Tasks, groups of tasks, timers, limits, select; schedulers and the event loops that drive them;
// the dump of all tasks.

#include "leat/async/as_tuple.hpp"
#include "leat/async/condition_wait.hpp"
#include "leat/async/dump/dump.hpp"
#include "leat/async/dump/dump_on_request.hpp"
#include "leat/async/for_each_concurrent.hpp"
#include "leat/async/loop/asio_scheduler.hpp"
#include "leat/async/loop/async_run.hpp"
#include "leat/async/loop/embedded_scheduler.hpp"
#include "leat/async/loop/partial_transfer.hpp"
#include "leat/async/loop/run.hpp"
#include "leat/async/loop/runtime.hpp"
#include "leat/async/loop/scheduler_executor.hpp"
#include "leat/async/loop/stop_on_signal.hpp"
#include "leat/async/loop/sync_wait.hpp"
#include "leat/async/loop/use_task.hpp"
#include "leat/async/retry.hpp"
#include "leat/async/select.hpp"
#include "leat/async/sleep.hpp"
#include "leat/async/task.hpp"
#include "leat/async/task_group.hpp"
#include "leat/async/this_task.hpp"
#include "leat/async/wait_for_stop.hpp"
#include "leat/async/wait_limit.hpp"
#include "leat/async/when_all.hpp"
#include "leat/async/when_any.hpp"

// For authors of operations and schedulers
#include "leat/async/scheduler.hpp"
#include "leat/async/task_context.hpp"
#include "leat/async/task_id.hpp"
#include "leat/async/task_scope.hpp"
#include "leat/async/wait_operation.hpp"
#include "leat/async/wait_target.hpp"
#include "leat/async/work_item.hpp"
