#pragma once

#include <exception>
#include <string>
#include <system_error>

#include "leat/base/flavour.hpp"

namespace LEAT {

/// The reasons for which an operation of this library fails.
///
/// The names and numbers are TensorFlow's status codes, so that a definition written for TensorFlow
/// (`queue_closed_exception_types`) has the same meaning in leat. Each one is both a code that leat
/// produces and a condition that matches equivalent codes: `ec == errc::cancelled` is true for
/// leat's own code, for Asio's `operation_aborted` and for the kernel's `ECANCELED`.
///
/// An expected end (a queue closed and drained, the end of a file) is not an error: it is part of
/// the return type. `out_of_range` exists for code that must report such an end as an error.
enum class errc {
  cancelled = 1,            ///< a stop request ended the operation; nothing was changed
  unknown = 2,              ///< an error of another library without a better name
  invalid_argument = 3,     ///< the call can never succeed with these arguments
  deadline_exceeded = 4,    ///< the deadline of the operation has passed; nothing was changed
  not_found = 5,            ///< a file, a name or a key does not exist
  already_exists = 6,       ///< a file, a name or a key exists but must not
  permission_denied = 7,    ///< the operating system refused access
  resource_exhausted = 8,   ///< a limit was reached: memory, descriptors, a configured maximum
  failed_precondition = 9,  ///< the object is not in a state in which the call is allowed
  aborted = 10,             ///< stopped by a conflict or a failure elsewhere; can be retried
  out_of_range = 11,        ///< past the end of the input
  unimplemented = 12,       ///< not supported
  internal = 13,            ///< an invariant of the library is violated
  unavailable = 14,         ///< currently not reachable; can be retried
  data_loss = 15,           ///< stored data is corrupt or truncated
  unauthenticated = 16,     ///< no valid credentials
};

/// Returns the category of `errc`. Its name is "leat".
///
/// Thread safety: thread-safe.
[[nodiscard]] const std::error_category& error_category() noexcept;

/// Returns the code of `e` in this category. The standard library finds this function by
/// argument-dependent lookup.
[[nodiscard]] std::error_code make_error_code(errc e) noexcept;

/// Returns the condition of `e`, to which codes of any category can be compared.
[[nodiscard]] std::error_condition make_error_condition(errc e) noexcept;

/// Returns an error code for an exception: the code of a std::system_error, or `resource_exhausted`
/// for std::bad_alloc. For any other exception, and for a system_error whose code is success,
/// returns `unknown`. Returns success if `error` is null.
[[nodiscard]] std::error_code to_error_code(const std::exception_ptr& error) noexcept;

/// The exception of leat, whose message says where and why an operation failed. what() returns the
/// message followed by the meaning of the code.
///
///     throw failure(errc::data_loss, "a.tfrecord, record 3 at offset 48: length checksum ...");
class failure : public std::system_error {
 public:
  failure(std::error_code ec, const std::string& message) : std::system_error(ec, message) {}
  failure(errc e, const std::string& message) : failure(make_error_code(e), message) {}
};

}  // namespace LEAT

// A condition, not a code: `ec == leat::errc::cancelled` then compares meanings. A code is made by
// leat::make_error_code().
template <>
struct std::is_error_condition_enum<leat::errc> : std::true_type {};
