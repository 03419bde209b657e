#pragma once

#include <cstddef>
#include <exception>
#include <string>
#include <system_error>
#include <utility>

#include "leat/base/error.hpp"

namespace LEAT {

/// The exception of a push_many() that ended before it added all of its items. The `count()` items
/// that it added stay in the queue.
///
/// The code is `cancelled` after a stop request or close_and_cancel(), `deadline_exceeded` after a
/// deadline, or the code of the error passed to fail(). In the last case, what() ends with the
/// message of that error.
class partial_push_error : public failure {
 public:
  partial_push_error(std::error_code ec, const std::string& message, std::size_t count,
                     std::exception_ptr cause = nullptr)
      : failure(ec, message), count_(count), cause_(std::move(cause)) {}

  /// Returns the number of items that the push added.
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

  /// Returns the error passed to queue_base::fail(), or null if the push ended for another reason.
  [[nodiscard]] const std::exception_ptr& cause() const noexcept { return cause_; }

 private:
  std::size_t count_;
  std::exception_ptr cause_;
};

}  // namespace LEAT
