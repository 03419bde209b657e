#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tool {

/// Runs with a colour of their own; further ones have the same again, with dashed curves.
inline constexpr std::size_t report_colors = 8;

/// The style sheet of a report.
[[nodiscard]] std::string_view report_style() noexcept;

/// The rules for the runs of a report: their colours, and the boxes that hide them.
[[nodiscard]] std::string report_run_style(std::size_t runs);

/// The script of a report: axes that can be chosen, and values under the pointer. It uses nothing
/// but the page, and the page is complete without it. It can stand in a CDATA section.
[[nodiscard]] std::string_view report_script() noexcept;

}  // namespace tool
