#pragma once

// What fills queues and stops everything: the coordinator, queue runners, loopers.

#include "leat/coordination/coordinator.hpp"
#include "leat/coordination/enqueue_operation.hpp"
#include "leat/coordination/looper.hpp"
#include "leat/coordination/queue_runner.hpp"
#include "leat/coordination/queue_runner_collection.hpp"
#include "leat/coordination/queue_runner_handle.hpp"
