#pragma once

#include <cstddef>
#include <string>
#include <system_error>

#include "leat/base/error.hpp"

namespace LEAT {

/// The exception of an Asio operation that an error, a stop or a limit ended after the operation
/// had transferred some bytes. Only an operation whose result is a number of bytes throws it, such
/// as asio::async_read().
///
/// The code is `cancelled` after a stop request, `deadline_exceeded` after a limit has expired, or
/// the code that the operation reported.
class partial_transfer : public failure {
 public:
  partial_transfer(std::error_code ec, const std::string& message, std::size_t bytes)
      : failure(ec, message), bytes_transferred_(bytes) {}

  /// Returns the number of bytes that the operation transferred.
  [[nodiscard]] std::size_t bytes_transferred() const noexcept { return bytes_transferred_; }

 private:
  std::size_t bytes_transferred_;
};

}  // namespace LEAT
