#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>

namespace tool {

/// The exit status. If several files have errors, the highest value counts.
enum class status {
  ok = 0,
  data = 1,   ///< a file is damaged, or unsuitable
  usage = 2,  ///< the command line is invalid
  io = 3,     ///< a file cannot be read or written
};

[[nodiscard]] constexpr status worse(status a, status b) noexcept { return a < b ? b : a; }

/// The description of an error.
struct problem {
  status result = status::io;
  std::string code;  ///< the name of the leat::errc: "data_loss"
  std::string text;
};

/// Describes an exception.
[[nodiscard]] problem describe(const std::exception_ptr& error);

/// Returns the message of an error of leat, without the message of its code.
[[nodiscard]] std::string message_of(const std::system_error& e);

/// Returns the name of the leat::errc that equals `code`, or "unknown".
[[nodiscard]] std::string name_of(const std::error_code& code);

/// Thrown to end the program with a signal, after it has cleaned up.
struct ended_by_signal {
  int number;
};

/// An error in the command line that is found after parsing.
class usage_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tool
