#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>

namespace tool {

/// What the program ends with. Of several files the worst counts.
enum class status {
  ok = 0,
  data = 1,   ///< a file is damaged, or not what it should be
  usage = 2,  ///< the command line makes no sense
  io = 3,     ///< a file cannot be read or written
};

[[nodiscard]] constexpr status worse(status a, status b) noexcept { return a < b ? b : a; }

/// What went wrong, for a person and for a program.
struct problem {
  status result = status::io;
  std::string code;  ///< the name of the leat::errc: "data_loss"
  std::string text;
};

/// What an exception says.
[[nodiscard]] problem describe(const std::exception_ptr& error);

/// What an error of leat says, without what its code says.
[[nodiscard]] std::string message_of(const std::system_error& e);

/// The name of the leat::errc that `code` means; "unknown" where there is none.
[[nodiscard]] std::string name_of(const std::error_code& code);

/// Thrown when the program is to end because of a signal: after it has cleaned up, with the signal.
struct ended_by_signal {
  int number;
};

/// An error in the command line that shows only later. what() says it.
class usage_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tool
