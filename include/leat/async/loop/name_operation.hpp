#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

#include "leat/async/loop/detail/asio_operation_name.hpp"

namespace LEAT {

namespace detail {

/// A string as a template argument.
template <std::size_t Size>
struct operation_text {
  consteval operation_text(const char (&literal)[Size]) noexcept {  // NOLINT: converts a literal
    for (std::size_t i = 0; i < Size; ++i) text[i] = literal[i];
  }
  char text[Size];  // with the terminating zero
};

/// An initiation with a name. A base, so that the executor of the initiation stays visible.
template <operation_text Name, class Initiation>
struct named_initiation : Initiation {
  static constexpr std::string_view operation_name{Name.text, sizeof Name.text - 1};
};

}  // namespace detail

/// Names an Asio operation of your own, for dumps, traces and errors. Pass the function with which
/// the operation starts:
///
///     template <class Token>
///     auto async_get(client& c, std::string key, Token&& token) {
///       return asio::async_initiate<Token, void(asio_error_code, std::string)>(
///           leat::name_operation<"async_get">([&c](auto handler, std::string key) {
///             c.get(std::move(key), std::move(handler));
///           }),
///           token, std::move(key));
///     }
///
/// A task that awaits `async_get(..., leat::use_task)` then waits for "async_get". Without a name,
/// an operation that a lambda starts is "an Asio operation". Other tokens ignore the name.
///
/// Cost: none; the name is a part of the type.
template <detail::operation_text Name, class Initiation>
[[nodiscard]] auto name_operation(Initiation&& initiation) {
  using function = std::decay_t<Initiation>;
  constexpr bool is_accepted = std::is_class_v<function> && !std::is_final_v<function>;
  static_assert(is_accepted,
                "name_operation() needs a lambda or another function object that is not final: "
                "write [&](auto handler, auto... arguments) { ... }");
  if constexpr (is_accepted) {
    return detail::named_initiation<Name, function>{std::forward<Initiation>(initiation)};
  }
}

}  // namespace LEAT
