#pragma once

#include <cstdint>
#include <functional>

#include <leat/io/reader/corruption.hpp>

namespace tool {

/// What was left out as damaged.
struct corruption_count {
  std::uint64_t regions = 0;
  std::uint64_t bytes = 0;

  /// Counts a report; one that was transient does not count: false.
  bool add(const leat::corruption_report& r) noexcept;
};

using report_function = std::function<void(const leat::corruption_report&)>;

/// Complains of each report and counts it in `sum`, which must live as long as what is returned.
[[nodiscard]] report_function make_corruption_reporter(corruption_count& sum);

}  // namespace tool
