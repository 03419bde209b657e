#pragma once

#include <cstddef>
#include <exception>
#include <string>
#include <system_error>
#include <utility>

#include "leat/base/error.hpp"

namespace leat {

/// A push_many() that ended half way: `count()` items went in and stay in.
///
/// Its code is `cancelled`, or `deadline_exceeded` of one with a time limit, or that of the cause
/// with which the queue was failed meanwhile; what() then ends with what the cause says.
class partial_push_error : public failure {
 public:
  partial_push_error(std::error_code ec, const std::string& message, std::size_t count,
                     std::exception_ptr cause = nullptr)
      : failure(ec, message), count_(count), cause_(std::move(cause)) {}

  [[nodiscard]] std::size_t count() const noexcept { return count_; }

  /// What was given to queue_base::fail(); null when the queue has not failed.
  [[nodiscard]] const std::exception_ptr& cause() const noexcept { return cause_; }

 private:
  std::size_t count_;
  std::exception_ptr cause_;
};

}  // namespace leat
