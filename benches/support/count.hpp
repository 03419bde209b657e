#pragma once

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_TOGGLE_COLLECT
#endif

namespace bench {

/// Begins or ends the part of the calling thread that tools/instructions.py counts, if it counts
/// only a part of the program.
inline void toggle_count() { CALLGRIND_TOGGLE_COLLECT; }

}  // namespace bench
