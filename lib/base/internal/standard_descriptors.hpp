#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// Returns the file of `descriptor` under a number above 2, or a negative errno, with the file
/// closed then. Otherwise a daemon that has closed 0 to 2 would receive these numbers for the next
/// files that it opens, and output to standard error would be written into one of them.
/// Cost: a comparison if the number is above 2 already.
inline int move_above_standard_descriptors(int descriptor) noexcept {
  if (descriptor < 0 || descriptor > STDERR_FILENO) return descriptor;
  const int moved = ::fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int error = errno;
  ::close(descriptor);
  return moved < 0 ? -error : moved;
}

}  // namespace LEAT::detail
