#pragma once

// TensorFlow's input functions: producers and batchers over queues.

#include "leat/input/basic_producer.hpp"
#include "leat/input/batcher.hpp"
#include "leat/input/element_source.hpp"
#include "leat/input/filename_queue_reader.hpp"
#include "leat/input/in_memory_source.hpp"
#include "leat/input/input_producer.hpp"
#include "leat/input/keyed_record.hpp"
#include "leat/input/limit_epochs.hpp"
#include "leat/input/match_filenames_once.hpp"
#include "leat/input/queue_list.hpp"
#include "leat/input/queue_runner_def.hpp"
#include "leat/input/queue_runner_resolver.hpp"
#include "leat/input/range_input_producer.hpp"
#include "leat/input/reader_state.hpp"
#include "leat/input/slice_input_producer.hpp"
#include "leat/input/tensor_batcher.hpp"
#include "leat/input/tensor_input_producer.hpp"
