#pragma once

// Declared pipelines: read_files(), read_indexed() and read_queue() start one; map(), shuffle(),
// batch() and prefetch() add stages; next() or for_each() runs it. build_pipeline() builds one from
// data. Include it to read, transform and batch records in one expression, and to save and restore
// the position. For readers and
// queues that you connect by hand, leat/io.hpp and leat/queue.hpp are enough.

#include "leat/pipeline/element/owned_batch.hpp"
#include "leat/pipeline/metrics/prometheus_text.hpp"
#include "leat/pipeline/metrics/stage_fullness.hpp"
#include "leat/pipeline/metrics/stage_metrics.hpp"
#include "leat/pipeline/pipeline.hpp"
#include "leat/pipeline/plan/build_pipeline.hpp"
#include "leat/pipeline/plan/decoder_options.hpp"
#include "leat/pipeline/plan/pipeline_plan.hpp"
#include "leat/pipeline/plan/plan_error.hpp"
#include "leat/pipeline/plan/planned_batch.hpp"
#include "leat/pipeline/plan/planned_column.hpp"
#include "leat/pipeline/plan/record_format.hpp"
#include "leat/pipeline/read_indexed.hpp"
#include "leat/pipeline/read_queue.hpp"
#include "leat/pipeline/source/file_source.hpp"
#include "leat/pipeline/stage/pipeline_options.hpp"
#include "leat/pipeline/stage/stage_options.hpp"
