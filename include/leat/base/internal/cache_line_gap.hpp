#pragma once

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// A member that keeps the members around it on different cache lines. Not alignas: the object may
/// be a variable of a coroutine, whose frame has no extended alignment.
using cache_line_gap = char[64];

}  // namespace LEAT::detail
