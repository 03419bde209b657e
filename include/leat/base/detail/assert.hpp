#pragma once

namespace leat::detail {

/// Called when a precondition or an invariant does not hold: prints the location and the sentence
/// to standard error and ends the process. A broken precondition is a bug, not an error to handle.
[[noreturn]] void assertion_failed(const char* condition, const char* sentence, const char* file,
                                   int line) noexcept;

/// What a failed assertion of this thread adds to its message, such as the seed of a simulated
/// world; null if nothing.
extern thread_local const char* assertion_note;

}  // namespace leat::detail

/// Ends the process with `sentence` unless `condition` holds. On in every build type: the library
/// only asserts where a continued run would lose data, corrupt memory or wait for ever.
#define LEAT_ASSERT(condition, sentence) \
  (static_cast<bool>(condition)          \
       ? static_cast<void>(0)            \
       : ::leat::detail::assertion_failed(#condition, sentence, __FILE__, __LINE__))
