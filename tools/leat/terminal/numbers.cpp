#include "terminal/numbers.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>

#include <CLI/Validators.hpp>
#include <fmt/format.h>

#include "terminal/text.hpp"

namespace tool {
namespace {

std::string type_error_text(std::string_view wanted, const std::string& text) {
  return fmt::format("give {}, not '{}'", wanted, escape_text(text));
}

CLI::Validator numbers_from(std::uint64_t least) {
  const auto take = [least](std::string& text) {
    const std::optional<std::uint64_t> value = whole_number(text);
    if (!value || *value < least) {
      return type_error_text(fmt::format("a whole number of {} or more", least), text);
    }
    text = std::to_string(*value);
    return std::string();
  };
  return {take, ""};
}

bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Checks that a text is a number with an optional unit, which CLI11 converts.
std::string take_size(std::string& text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::optional<std::uint64_t> value = whole_number(std::string_view(text).substr(0, digits));
  std::string unit = text.substr(digits);
  unit.erase(0, std::min(unit.find_first_not_of(' '), unit.size()));
  if (!value || !std::ranges::all_of(unit, is_letter)) {
    return type_error_text("a whole number of bytes, or with a unit, as in 16MiB", text);
  }
  text = std::to_string(*value) + unit;
  return {};
}

}  // namespace

std::optional<std::uint64_t> whole_number(std::string_view text) noexcept {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end) return std::nullopt;
  return value;
}

CLI::Option* as_number(CLI::Option* option, std::uint64_t least) {
  return option->transform(numbers_from(least))->type_name("N");
}

CLI::Option* as_real(CLI::Option* option, double least, double most) {
  const auto reject_nan = [](std::string& text) {
    return std::isnan(std::strtod(text.c_str(), nullptr)) ? type_error_text("a number", text)
                                                          : std::string();
  };
  return option->check(CLI::Range(least, most).description(""))
      ->check(CLI::Validator(reject_nan, ""));
}

CLI::Option* as_size(CLI::Option* option, std::uint64_t least) {
  // Each transform() runs before the existing ones.
  return option->transform(numbers_from(least))
      ->transform(CLI::AsSizeValue(false).description(""))
      ->transform(CLI::Validator(take_size, ""))
      ->type_name("SIZE");
}

}  // namespace tool
