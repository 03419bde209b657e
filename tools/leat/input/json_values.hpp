#pragma once

#include <concepts>
#include <string_view>

#include "terminal/output.hpp"

namespace tool {

// Convert one value to JSON. A float has its shortest form, 0.1 instead of 0.10000000149011612.
// A value that is not finite is a string such as "Infinity", as in protobuf's JSON. Bytes that are
// not UTF-8 become {"base64": "/9j/"}.
[[nodiscard]] json value_json(float value);
[[nodiscard]] json value_json(double value);
[[nodiscard]] json value_json(std::string_view value);
template <std::integral Integer>  // bool too
[[nodiscard]] json value_json(Integer value) {
  return value;
}

}  // namespace tool
