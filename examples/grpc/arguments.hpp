#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include <leat/leat.hpp>

/// Returns the number that an argument of the program consists of.
/// Errors: invalid_argument, if it is not a number from 0 to `most`.
inline std::int64_t number_in(std::string_view argument, std::int64_t most) {
  std::int64_t number = 0;
  const char* const end = argument.data() + argument.size();
  const auto [last, error] = std::from_chars(argument.data(), end, number);
  if (error != std::errc() || last != end || number < 0 || number > most)
    throw leat::failure(
        leat::errc::invalid_argument,
        "'" + std::string(argument) + "' is not a number from 0 to " + std::to_string(most));
  return number;
}
