#pragma once

#include <chrono>
#include <string>

#include "leat/base/clock.hpp"

namespace LEAT::detail {

/// Returns seconds as a decimal number without trailing zeros, such as "1.5".
inline std::string seconds_text(duration d) {
  std::string text = std::to_string(std::chrono::duration<double>(d).count());
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace LEAT::detail
