#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <limits>
#include <string_view>
#include <system_error>

#include <poll.h>
#include <unistd.h>

#include "leat/base/clock.hpp"

namespace LEAT {

/// Writes all of `text` to a descriptor that may be nonblocking, such as standard output or
/// standard error. These often belong to several processes, any of which can set O_NONBLOCK. Then
/// std::puts() and std::cout lose text when a pipe is full; this function waits.
///
/// Blocks the thread while a pipe, terminal or socket is full, and continues after a signal. In a
/// task, use it only for short texts.
///
/// Returns the error of the write that failed. If nothing can be written for `patience`, returns
/// std::errc::resource_unavailable_try_again. After an error, a part of `text` may have been
/// written.
///
/// Thread safety: thread-safe; the texts of concurrent calls may be mixed. Safe in a signal
///                handler, but changes errno.
[[nodiscard]] inline std::error_code write_all(int descriptor, std::string_view text,
                                               time_span patience = duration::max()) noexcept {
  using std::chrono::milliseconds;
  constexpr int no_limit = -1;
  const milliseconds whole = std::chrono::duration_cast<milliseconds>(patience);
  const bool limited = whole.count() <= std::numeric_limits<int>::max();
  const milliseconds positive = std::max(whole, milliseconds::zero());
  const int timeout = limited ? static_cast<int>(positive.count()) : no_limit;
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count >= 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      pollfd writable{descriptor, POLLOUT, 0};
      if (::poll(&writable, 1, timeout) == 0) return {EAGAIN, std::generic_category()};
    } else if (errno != EINTR) {
      return {errno, std::generic_category()};
    }
  }
  return {};
}

}  // namespace LEAT
