#pragma once

namespace leat {

/// Called when a precondition or an invariant does not hold: prints the place and the sentence to
/// standard error and ends the process. A broken precondition is a bug, not an error to handle.
[[noreturn]] void assertion_failed(const char* condition, const char* sentence, const char* file,
                                   int line) noexcept;

namespace detail {

/// What an assertion that fails on this thread adds to its message, such as the seed of a simulated
/// world; null for nothing.
extern thread_local const char* assertion_note;

}  // namespace detail
}  // namespace leat

/// Ends the process with `sentence` unless `condition` holds. On in every build type: the library
/// only asserts where a continued run would lose data, corrupt memory or wait for ever.
#define LEAT_ASSERT(condition, sentence) \
  (static_cast<bool>(condition)          \
       ? static_cast<void>(0)            \
       : ::leat::assertion_failed(#condition, sentence, __FILE__, __LINE__))
