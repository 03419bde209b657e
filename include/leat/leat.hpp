#pragma once

// The headers of leat-runtime, leat-data and leat-train, except leat/sim.hpp, which is for tests,
// and leat/net.hpp. leat/tensorflow.hpp includes leat-tensorflow. leat/<layer>.hpp includes one
// layer and compiles faster.

#include "leat/async.hpp"
#include "leat/base.hpp"
#include "leat/coordination.hpp"
#include "leat/queue.hpp"
#include "leat/sync.hpp"
#include "leat/tensor.hpp"
#include "leat/version.hpp"
#if __has_include("leat/train.hpp")  // not with the option runtime_only
#include "leat/codec.hpp"
#include "leat/io.hpp"
#include "leat/pipeline.hpp"
#include "leat/train.hpp"
#endif
