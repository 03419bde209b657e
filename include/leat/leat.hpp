#pragma once

// The library; leat/<layer>.hpp is one layer of it and takes less time to compile. Apart stand
// leat/sim.hpp, for tests, and leat/tensorflow.hpp, for programs that come from there.

#include "leat/async.hpp"
#include "leat/base.hpp"
#include "leat/coordination.hpp"
#include "leat/queue.hpp"
#include "leat/tensor.hpp"
#include "leat/version.hpp"
#if !defined(LEAT_RUNTIME_ONLY)  // the option runtime_only leaves these out
#include "leat/codec.hpp"
#include "leat/input.hpp"
#include "leat/io.hpp"
#include "leat/pipeline.hpp"
#include "leat/train.hpp"
#endif
