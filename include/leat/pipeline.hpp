#pragma once

// Declared pipelines: sources, stages, metrics.

#include "leat/pipeline/element/owned_batch.hpp"
#include "leat/pipeline/metrics/prometheus_text.hpp"
#include "leat/pipeline/metrics/stage_fullness.hpp"
#include "leat/pipeline/metrics/stage_metrics.hpp"
#include "leat/pipeline/pipeline.hpp"
#include "leat/pipeline/read_indexed.hpp"
#include "leat/pipeline/read_queue.hpp"
#include "leat/pipeline/source/file_source.hpp"
#include "leat/pipeline/stage/pipeline_options.hpp"
#include "leat/pipeline/stage/stage_options.hpp"
