#pragma once

#include <cstdint>
#include <functional>

#include <leat/io/reader/corruption.hpp>

namespace tool {

/// The damage that was skipped.
struct corruption_count {
  std::uint64_t regions = 0;
  std::uint64_t bytes = 0;

  /// Counts a report. Returns false, and counts nothing, if the error was transient.
  bool add(const leat::corruption_report& r) noexcept;
};

using report_function = std::function<void(const leat::corruption_report&)>;

/// Returns a function that prints each report and counts it in `sum`, which must outlive it.
[[nodiscard]] report_function make_corruption_reporter(corruption_count& sum);

}  // namespace tool
