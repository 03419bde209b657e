#pragma once

#include "leat/codec/compression/inflater.hpp"

namespace leat::detail {

// Names a limit that is 0, which is invalid. Returns null if there is none.
[[nodiscard]] inline const char* zero_limit(const inflate_options& o) noexcept {
  if (o.max_empty_members == 0) return "inflate_options::max_empty_members is 0, must be 1 or more";
  if (o.max_ratio == 0) return "inflate_options::max_ratio is 0, must be 1 or more";
  return o.max_output == 0 ? "inflate_options::max_output is 0, must be 1 or more" : nullptr;
}

}  // namespace leat::detail
