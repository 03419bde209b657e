#pragma once

#include <cstddef>
#include <string>

#include "leat/core/error.hpp"

namespace leat {

/// A push_many() that was cancelled half way: `count()` items went in and stay in.
class partial_push : public failure {
 public:
  partial_push(const std::string& message, std::size_t count)
      : failure(errc::cancelled, message), count_(count) {}
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

 private:
  std::size_t count_;
};

}  // namespace leat
