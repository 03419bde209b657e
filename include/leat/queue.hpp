#pragma once

// The bounded queues, with their limits, weights, budgets and statistics.

#include "leat/queue/basic_queue.hpp"
#include "leat/queue/completion_tokens.hpp"
#include "leat/queue/element_byte_size.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "leat/queue/memory_budget.hpp"
#include "leat/queue/padding_fifo_queue.hpp"
#include "leat/queue/partial_push_error.hpp"
#include "leat/queue/priority_queue.hpp"
#include "leat/queue/queue_base.hpp"
#include "leat/queue/queue_fullness.hpp"
#include "leat/queue/queue_options.hpp"
#include "leat/queue/queue_registry.hpp"
#include "leat/queue/queue_statistics.hpp"
#include "leat/queue/random_shuffle_queue.hpp"
#include "leat/queue/tensor_priority_queue.hpp"
#include "leat/queue/tensor_queue.hpp"
#include "leat/queue/timed_batch_operations.hpp"
