#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <CLI/Option.hpp>

namespace tool {

/// The number that a text of decimal digits is; empty for all else, and above 2^64 - 1.
[[nodiscard]] std::optional<std::uint64_t> whole_number(std::string_view text) noexcept;

/// An option that takes whole numbers, `least` or more: no "-1", which CLI11 takes for 2^64 - 1, no
/// "010", which it takes for 8.
CLI::Option* as_number(CLI::Option* option, std::uint64_t least = 0);

/// One that takes numbers from `least` to `most`; no "nan", which CLI11 takes for one of these.
CLI::Option* as_real(CLI::Option* option, double least, double most);

/// One that takes bytes, with a unit such as MiB or without, `least` or more.
CLI::Option* as_size(CLI::Option* option, std::uint64_t least = 0);

}  // namespace tool
