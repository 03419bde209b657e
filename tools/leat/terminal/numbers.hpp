#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <CLI/Option.hpp>

namespace tool {

/// Parses a text of decimal digits. Returns nothing for any other text, and above 2^64 - 1.
[[nodiscard]] std::optional<std::uint64_t> whole_number(std::string_view text) noexcept;

/// Makes an option accept whole numbers of `least` or more. CLI11 would read "-1" as 2^64 - 1 and
/// "010" as 8.
CLI::Option* as_number(CLI::Option* option, std::uint64_t least = 0);

/// Makes an option accept numbers from `least` to `most`. CLI11 would also accept "nan".
CLI::Option* as_real(CLI::Option* option, double least, double most);

/// Makes an option accept a size of `least` bytes or more, with or without a unit such as MiB.
CLI::Option* as_size(CLI::Option* option, std::uint64_t least = 0);

}  // namespace tool
