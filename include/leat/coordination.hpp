#pragma once

// The coordinator, which stops tasks and threads together; queue runners, which fill queues;
// loopers, which repeat a function.

#include "leat/coordination/coordinator.hpp"
#include "leat/coordination/enqueue_operation.hpp"
#include "leat/coordination/join_options.hpp"
#include "leat/coordination/looper.hpp"
#include "leat/coordination/queue_runner.hpp"
#include "leat/coordination/queue_runner_collection.hpp"
#include "leat/coordination/queue_runner_handle.hpp"
#include "leat/coordination/task_owner.hpp"
