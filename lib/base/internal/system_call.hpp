#pragma once

#include <cerrno>
#include <cstdint>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// Returns the result of a system call, or the negative errno.
inline std::int64_t to_negative_errno(std::int64_t result) noexcept {
  return result < 0 ? -errno : result;
}

/// Like to_negative_errno(), but repeats `call` while a signal interrupts it.
template <class Call>
std::int64_t retry_on_eintr(Call call) noexcept {
  for (;;) {
    const std::int64_t result = to_negative_errno(call());
    if (result != -EINTR) return result;
  }
}

}  // namespace LEAT::detail
