#pragma once

// Basics that all layers share: errors (failure, errc), views of bytes, clocks and time spans,
// random numbers, permutations, ranks and write_all(). Every other facade includes what it needs of
// them; include this one to use them alone, such as errc in code that calls no operation.

#include "leat/base/asio.hpp"
#include "leat/base/batch_remainder.hpp"
#include "leat/base/braced.hpp"
#include "leat/base/bytes.hpp"
#include "leat/base/clock.hpp"
#include "leat/base/error.hpp"
#include "leat/base/flavour.hpp"
#include "leat/base/permutation.hpp"
#include "leat/base/process_identity.hpp"
#include "leat/base/random.hpp"
#include "leat/base/shuffle_quality.hpp"
#include "leat/base/world_rank.hpp"
#include "leat/base/write_all.hpp"
