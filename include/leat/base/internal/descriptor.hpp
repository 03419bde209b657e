#pragma once

#include <cerrno>
#include <string>
#include <utility>

#include <unistd.h>

#include "leat/base/error.hpp"

namespace LEAT::detail {

/// Owns a file descriptor and closes it.
class descriptor {
 public:
  /// Takes the result of a system call. Errors: its errno, with the message `failed`.
  descriptor(int result, const char* failed) : number_(result) {
    if (result < 0) throw failure(std::error_code(errno, std::generic_category()), failed);
  }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() {
    if (number_ >= 0) ::close(number_);
  }

  [[nodiscard]] int get() const noexcept { return number_; }
  int release() noexcept { return std::exchange(number_, -1); }

 private:
  int number_;
};

}  // namespace LEAT::detail
