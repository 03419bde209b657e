#pragma once

#include <cstdint>
#include <string>

#include "leat/base/clock.hpp"

namespace LEAT::detail {

/// Returns milliseconds as an exact decimal number without trailing zeros, such as "1.5".
inline std::string milliseconds_text(duration d) {
  constexpr std::int64_t in_one = 1'000'000;
  const std::int64_t ns = d.count();
  std::string text = std::to_string(ns / in_one);
  const std::int64_t rest = ns % in_one;
  if (rest == 0) return text;
  if (ns < 0 && ns > -in_one) text = "-0";
  std::string part = std::to_string(in_one + (rest < 0 ? -rest : rest));
  part[0] = '.';
  part.erase(part.find_last_not_of('0') + 1);
  return text + part;
}

}  // namespace LEAT::detail
