#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "leat/base/clock.hpp"

namespace LEAT::detail {

/// A number of a metric: a count, or infinity.
struct metric_value {
  std::uint64_t count = 0;
  bool is_infinite = false;
};

/// A metric in Prometheus' format, of which each object or group of objects has a sample.
struct metric_family {
  const char* name;
  const char* type;
  const char* help;
  bool is_maximum = false;  ///< several objects have the maximum of their values, not the sum

  [[nodiscard]] constexpr bool is_counter() const noexcept {
    return std::string_view(type) == "counter";
  }
  [[nodiscard]] constexpr metric_value merge(metric_value a, metric_value b) const noexcept {
    return {is_maximum ? std::max(a.count, b.count) : a.count + b.count,
            a.is_infinite || b.is_infinite};
  }
};

/// The sample of one object.
struct metric_sample {
  const metric_family* family;
  metric_value value;
};

/// The number of waiting operations of a primitive.
inline constexpr metric_family waiting_operations_metric{
    "leat_primitive_waiting_operations", "gauge", "Operations that wait on the primitive."};

/// Returns the value of a label between its quotes. A byte that is not UTF-8 becomes "?".
[[nodiscard]] std::string escaped_label(std::string_view value);
/// Returns a time in seconds, such as "1.500000000".
[[nodiscard]] std::string metric_seconds(duration d);
/// Returns "NAME{LABELS} VALUE\n".
[[nodiscard]] std::string sample_line(const metric_family& family, std::string_view labels,
                                      metric_value value);
/// Appends a family with its samples, unless there are none.
void append_family(std::string& text, const metric_family& family, std::string_view samples);

}  // namespace LEAT::detail
