#pragma once

#include <exception>
#include <string>
#include <system_error>

namespace leat {

/// The reasons for which an operation of this library fails.
///
/// The names and numbers are those of TensorFlow's status codes, so that a definition that was
/// written there (`queue_closed_exception_types`) keeps its meaning here. Each is both a code that
/// leat produces and a condition that matches other spellings: `ec == errc::cancelled` is true for
/// leat's own code, for Asio's `operation_aborted` and for the kernel's `ECANCELED`.
///
/// An expected end (a queue closed and drained, the end of a file) is no error: it is part of the
/// return type. `out_of_range` exists for code that must speak of such an end as an error.
enum class errc {
  cancelled = 1,            ///< somebody asked the operation to stop; nothing was changed
  unknown = 2,              ///< a foreign error without a better name
  invalid_argument = 3,     ///< the call can never succeed as it was made
  deadline_exceeded = 4,    ///< the time limit of the operation ran out; nothing was changed
  not_found = 5,            ///< a file, a name or a key does not exist
  already_exists = 6,       ///< a file, a name or a key exists that must not
  permission_denied = 7,    ///< the operating system refused access
  resource_exhausted = 8,   ///< a limit was reached: memory, descriptors, a configured maximum
  failed_precondition = 9,  ///< the object is not in a state in which the call is allowed
  aborted = 10,       ///< given up because of a conflict or a failure elsewhere; can be tried again
  out_of_range = 11,  ///< past the end of the input
  unimplemented = 12,    ///< not supported here
  internal = 13,         ///< a broken invariant of the library
  unavailable = 14,      ///< not reachable now; can be tried again
  data_loss = 15,        ///< stored data is corrupt or cut short
  unauthenticated = 16,  ///< no valid credentials
};

/// The category of `errc`: its name is "leat".
/// Thread safety: thread-safe.
[[nodiscard]] const std::error_category& error_category() noexcept;

/// The code of this category; found by argument-dependent lookup, as the standard wants it.
[[nodiscard]] std::error_code make_error_code(errc e) noexcept;

/// The condition that codes of other categories are compared with.
[[nodiscard]] std::error_condition make_error_condition(errc e) noexcept;

/// What an exception comes to where only a code can be given: the code of a std::system_error,
/// `resource_exhausted` for std::bad_alloc, `unknown` for any other, also for one whose code says
/// success; success for none.
[[nodiscard]] std::error_code to_error_code(const std::exception_ptr& error) noexcept;

/// A failure with its place: what() begins with the sentence, then the meaning of the code.
///
///     throw failure(errc::data_loss, "a.tfrecord, record 3 at offset 48: length checksum ...");
class failure : public std::system_error {
 public:
  failure(std::error_code ec, const std::string& message) : std::system_error(ec, message) {}
  failure(errc e, const std::string& message) : failure(make_error_code(e), message) {}
};

}  // namespace leat

// A condition, not a code: `ec == leat::errc::cancelled` then compares meanings. A code is made by
// leat::make_error_code().
template <>
struct std::is_error_condition_enum<leat::errc> : std::true_type {};
