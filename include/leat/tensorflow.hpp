#pragma once

// Names of TensorFlow 1.x for programs that come from there; a new program does not need them.

#include "leat/codec/compression/decode_compressed.hpp"
#include "leat/coordination/queue_runner_def.hpp"
#include "leat/coordination/queue_runner_resolver.hpp"
#include "leat/input/limit_epochs.hpp"
#include "leat/io/reader/identity_reader.hpp"
#include "leat/queue/queue_list.hpp"
#include "leat/train/supervisor/session_manager.hpp"
