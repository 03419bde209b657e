#pragma once

#include <concepts>
#include <string_view>

#include "terminal/output.hpp"

namespace tool {

// Single values as JSON. A float is as short as it is: 0.1, not 0.10000000149011612; what JSON has
// no number for is a string, "Infinity", as in protobuf's own JSON. Bytes that are no UTF-8 are
// {"base64": "/9j/"}.
[[nodiscard]] json value_json(float value);
[[nodiscard]] json value_json(double value);
[[nodiscard]] json value_json(std::string_view value);
template <std::integral Integer>  // bool too
[[nodiscard]] json value_json(Integer value) {
  return value;
}

}  // namespace tool
