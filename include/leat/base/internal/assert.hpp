#pragma once

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// Called when a precondition or an invariant does not hold: prints the location and the message to
/// standard error and ends the process. A broken precondition is a bug, not an error to handle.
[[noreturn]] void assertion_failed(const char* condition, const char* sentence, const char* file,
                                   int line) noexcept;

/// A text that a failed assertion of this thread adds to its message, such as the seed of a
/// simulated world. Null if there is none.
extern thread_local const char* assertion_note;

}  // namespace LEAT::detail

/// Ends the process with `sentence` unless `condition` holds. Active in every build type: the
/// library asserts only where the program would otherwise lose data, corrupt memory or wait
/// forever.
#define LEAT_ASSERT(condition, sentence) \
  (static_cast<bool>(condition)          \
       ? static_cast<void>(0)            \
       : ::leat::detail::assertion_failed(#condition, sentence, __FILE__, __LINE__))
