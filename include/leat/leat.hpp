#pragma once

// Everything, in the order in which one meets it. Programs may include the single headers instead.

// Tasks and where they run
#include "leat/core/asio_scheduler.hpp"
#include "leat/core/async_run.hpp"
#include "leat/core/context.hpp"
#include "leat/core/runtime.hpp"
#include "leat/core/scheduler.hpp"
#include "leat/core/select.hpp"
#include "leat/core/sleep.hpp"
#include "leat/core/stop_wait.hpp"
#include "leat/core/sync_wait.hpp"
#include "leat/core/task.hpp"
#include "leat/core/task_group.hpp"
#include "leat/core/task_id.hpp"
#include "leat/core/task_scope.hpp"
#include "leat/core/this_task.hpp"
#include "leat/core/wait.hpp"
#include "leat/core/wait_object.hpp"
#include "leat/core/work_item.hpp"

// Errors, time, random numbers, diagnosis
#include "leat/core/assert.hpp"
#include "leat/core/clock.hpp"
#include "leat/core/dump.hpp"
#include "leat/core/dump_on_request.hpp"
#include "leat/core/embedded_scheduler.hpp"
#include "leat/core/error.hpp"
#include "leat/core/random.hpp"

// Values in shapes, elements and batches of them
#include "leat/core/dtype.hpp"
#include "leat/core/element_spec.hpp"
#include "leat/core/shape.hpp"
#include "leat/core/stack.hpp"
#include "leat/core/string_values.hpp"
#include "leat/core/tensor.hpp"
#include "leat/core/tensor_tuple.hpp"

// Bytes in, values out
#include "leat/codec/bytes.hpp"
#include "leat/codec/compression.hpp"
#include "leat/codec/crc32c.hpp"
#include "leat/codec/deflater.hpp"
#include "leat/codec/inflater.hpp"
#include "leat/codec/line_splitter.hpp"
#include "leat/codec/tfrecord.hpp"
#include "leat/codec/tfrecord_index.hpp"

// Queues, and who fills and stops them
#include "leat/sync/basic_queue.hpp"
#include "leat/sync/coordinator.hpp"
#include "leat/sync/fifo_queue.hpp"
#include "leat/sync/looper.hpp"
#include "leat/sync/memory_budget.hpp"
#include "leat/sync/padding_fifo_queue.hpp"
#include "leat/sync/partial_push.hpp"
#include "leat/sync/priority_queue.hpp"
#include "leat/sync/queue_base.hpp"
#include "leat/sync/queue_list.hpp"
#include "leat/sync/queue_options.hpp"
#include "leat/sync/queue_registry.hpp"
#include "leat/sync/queue_run.hpp"
#include "leat/sync/queue_runner.hpp"
#include "leat/sync/queue_runner_def.hpp"
#include "leat/sync/queue_runner_registry.hpp"
#include "leat/sync/queue_statistics.hpp"
#include "leat/sync/random_shuffle_queue.hpp"
#include "leat/sync/runner_collection.hpp"
#include "leat/sync/tensor_priority_queue.hpp"
#include "leat/sync/tensor_queue.hpp"

// Files and records
#include "leat/io/corruption.hpp"
#include "leat/io/file.hpp"
#include "leat/io/file_backend.hpp"
#include "leat/io/fixed_length_reader.hpp"
#include "leat/io/identity_reader.hpp"
#include "leat/io/line_reader.hpp"
#include "leat/io/quarantine_log.hpp"
#include "leat/io/record_batch.hpp"
#include "leat/io/record_reader.hpp"
#include "leat/io/sharded_tfrecord_writer.hpp"
#include "leat/io/tfrecord_reader.hpp"
#include "leat/io/tfrecord_writer.hpp"
#include "leat/io/whole_file_reader.hpp"

// Stages of a pipeline
#include "leat/pipeline/batcher.hpp"
#include "leat/pipeline/input_producer.hpp"
#include "leat/pipeline/match_files.hpp"
#include "leat/pipeline/queue_reader.hpp"
#include "leat/pipeline/reader_state.hpp"
#include "leat/pipeline/stage_metrics.hpp"

// Virtual time, for tests
#include "leat/sim/choices.hpp"
#include "leat/sim/file_system.hpp"
#include "leat/sim/ledger.hpp"  // IWYU pragma: export
#include "leat/sim/sweep.hpp"
#include "leat/sim/virtual_scheduler.hpp"
#include "leat/sim/world.hpp"
