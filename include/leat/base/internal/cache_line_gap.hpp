#pragma once

namespace leat::detail {

/// A member that keeps the members around it on different cache lines. Not alignas: the object may
/// be a variable of a coroutine, whose frame has no extended alignment.
using cache_line_gap = char[64];

}  // namespace leat::detail
