#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "leat/base/clock.hpp"

namespace LEAT::detail {

/// Returns a duration with three decimal places and its unit, such as "3.204 s".
inline std::string text_in_seconds(duration d) {
  const std::int64_t ms = std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
  const std::string rest = std::to_string(1000 + ms % 1000);
  return std::to_string(ms / 1000) + "." + rest.substr(1) + " s";
}

/// Returns the part of a dump that says that an operation was cancelled and has not ended yet.
inline std::string cancelled_text(duration since) {
  return ", cancelled " + text_in_seconds(since) + " ago, not ended yet";
}

}  // namespace LEAT::detail
