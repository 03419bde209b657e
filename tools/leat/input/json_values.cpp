#include "input/json_values.hpp"

#include <cmath>
#include <cstdlib>
#include <string>

#include <fmt/format.h>

#include "terminal/text.hpp"

namespace tool {
namespace {

template <class Float>
json number(Float value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return std::strtod(fmt::format("{}", value).c_str(), nullptr);
}

}  // namespace

json value_json(float value) { return number(value); }
json value_json(double value) { return number(value); }
json value_json(std::string_view value) {
  if (is_utf8(value)) return std::string(value);
  return {{"base64", base64(value)}};
}

}  // namespace tool
