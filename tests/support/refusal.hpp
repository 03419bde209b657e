#pragma once

#include <string>
#include <string_view>

#include <catch2/catch.hpp>

#include "leat/base/error.hpp"

// Checks that an expression throws a failure with the code, and that its message contains the text.
#define CHECK_FAILS(code, text, ...)                                              \
  CHECK_THAT(::leat_test::refusal([&] { static_cast<void>(__VA_ARGS__); }, code), \
             Catch::Contains(text))
// Like CHECK_FAILS for leat::errc::invalid_argument.
#define CHECK_REFUSED(text, ...) CHECK_FAILS(::leat::errc::invalid_argument, text, __VA_ARGS__)

namespace leat_test {

/// Returns the message of the `Exception`, a failure, that a call throws if it has the code
/// `expected`. Otherwise returns an empty string. Other exceptions pass through.
template <class Exception = leat::failure, class Call>
std::string refusal(Call call, leat::errc expected = leat::errc::invalid_argument) {
  try {
    static_cast<void>(call());
  } catch (const Exception& e) {
    if (e.code() == expected) return e.what();
  }
  return {};
}

/// Returns the message of a failure without the text of its code.
[[nodiscard]] inline std::string without_code_message(const leat::failure& e) {
  const std::string what = e.what();
  return what.substr(0, what.rfind(": " + e.code().message()));
}

/// Returns the message of the `Exception`, a failure, that a call throws, without the text of its
/// code, or an empty string. Checks that it has the code `expected`. Other exceptions pass through.
template <class Exception = leat::failure, class Call>
std::string plain_message_of(Call call, leat::errc expected = leat::errc::invalid_argument) {
  try {
    static_cast<void>(call());
  } catch (const Exception& e) {
    CHECK(e.code() == expected);
    return without_code_message(e);
  }
  return {};
}

[[nodiscard]] inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace leat_test
