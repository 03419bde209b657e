#pragma once

// The whole library, except leat/sim.hpp, for tests, and leat/tensorflow.hpp, with names for
// programs that come from TensorFlow. leat/<layer>.hpp includes one layer and compiles faster.

#include "leat/async.hpp"
#include "leat/base.hpp"
#include "leat/coordination.hpp"
#include "leat/queue.hpp"
#include "leat/sync.hpp"
#include "leat/tensor.hpp"
#include "leat/version.hpp"
#if !defined(LEAT_RUNTIME_ONLY)  // the option runtime_only leaves these out
#include "leat/codec.hpp"
#include "leat/input.hpp"
#include "leat/io.hpp"
#include "leat/pipeline.hpp"
#include "leat/train.hpp"
#endif
