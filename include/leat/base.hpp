#pragma once

// Errors, assertions, clocks, random numbers, permutations.

#include "leat/base/batch_remainder.hpp"
#include "leat/base/braced.hpp"
#include "leat/base/bytes.hpp"
#include "leat/base/clock.hpp"
#include "leat/base/error.hpp"
#include "leat/base/permutation.hpp"
#include "leat/base/random.hpp"
#include "leat/base/shuffle_quality.hpp"
