#pragma once

#include <cerrno>
#include <cstdint>

namespace leat::detail {

/// What a system call gave, or the negative errno.
inline std::int64_t to_negative_errno(std::int64_t result) noexcept {
  return result < 0 ? -errno : result;
}

/// The same, called again after a signal.
template <class Call>
std::int64_t retry_on_eintr(Call call) noexcept {
  for (;;) {
    const std::int64_t result = to_negative_errno(call());
    if (result != -EINTR) return result;
  }
}

}  // namespace leat::detail
