#pragma once

// Input functions, definitions of queue runners and monitored sessions, for programs that come from
// TensorFlow 1.x. A new program does not need them.

#include "leat/codec/compression/decode_compressed.hpp"
#include "leat/input.hpp"
#include "leat/io/reader/identity_reader.hpp"
#include "leat/train/monitored/monitored_session.hpp"
#include "leat/train/monitored/named_values.hpp"
#include "leat/train/monitored/run_context.hpp"
#include "leat/train/monitored/session_hook.hpp"
#include "leat/train/monitored/standard_hooks.hpp"
#include "leat/train/monitored/step_timer.hpp"
