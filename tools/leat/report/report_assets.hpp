#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tool {

/// The number of colors. Further runs use the same colors, with dashed curves.
inline constexpr std::size_t report_colors = 8;

/// The style sheet of a report.
[[nodiscard]] std::string_view report_style() noexcept;

/// The rules for the runs of a report: their colours, and the boxes that hide them.
[[nodiscard]] std::string report_run_style(std::size_t runs);

/// The script of a report: a choice of axes, and values at the pointer. It uses only the page, and
/// the page is complete without it. It can be part of a CDATA section.
[[nodiscard]] std::string_view report_script() noexcept;

}  // namespace tool
