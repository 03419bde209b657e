#include "leat/io/detail/byte_stream.hpp"

#include <algorithm>

#include "leat/core/error.hpp"

namespace leat::detail {

std::uint64_t byte_stream::seek(std::uint64_t offset) {
  if (!can_jump()) {
    if (view().end() == 0) return 0;
    throw failure(errc::unimplemented,
                  file_.path() + ": this file can only be read from its beginning to its end");
  }
  const std::uint64_t there = std::min(offset, size());
  source_.seek(there);
  return there;
}

}  // namespace leat::detail
