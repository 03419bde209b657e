#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// The name of the function of a user, from the name of Asio's type for its initiation.
constexpr std::string_view public_operation_name(std::string_view name) noexcept {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> replacements{{
      {"async_move_accept", "async_accept"},
      {"async_read_until", "async_read_until"},  // async_read_until_delim_v2 and others
      {"async_read_at", "async_read_at"},
      {"async_write_at", "async_write_at"},
      {"async_range_connect", "async_connect"},
      {"async_iterator_connect", "async_connect"},
  }};
  for (const auto& [prefix, replacement] : replacements) {
    if (name.starts_with(prefix)) return replacement;
  }
  if (name == "async_read_buffer_sequence" || name.starts_with("async_read_dynbuf")) {
    return "async_read";
  }
  if (name == "async_write_buffer_sequence" || name.starts_with("async_write_dynbuf")) {
    return "async_write";
  }
  if (name.starts_with("post_with")) return "post";
  if (name.starts_with("dispatch_with")) return "dispatch";
  if (name.starts_with("defer_with")) return "defer";
  return name;
}

/// The name of a type, and more characters of its compiler after it.
template <class T>
constexpr std::string_view type_name() noexcept {
  constexpr std::string_view prefix = "T = ";
  std::string_view name = __PRETTY_FUNCTION__;
  name.remove_prefix(name.find(prefix) + prefix.size());
  return name;
}

constexpr std::string_view identifier_at_start(std::string_view text) noexcept {
  return text.substr(0, text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789"));
}

/// The name of the function of a user, from the name of Boost.Beast's type for an operation, such
/// as "run_read_msg_op" or "read_some_op". Empty for another type.
constexpr std::string_view beast_operation_name(std::string_view name) noexcept {
  constexpr std::string_view run = "run_";
  if (name.starts_with(run)) name.remove_prefix(run.size());
  constexpr std::array<std::pair<std::string_view, std::string_view>, 16> names{{
      {"accept_op", "async_accept"},
      {"close_op", "async_close"},
      {"connect_iter_op", "async_connect"},
      {"connect_op", "async_connect"},
      {"connect_range_op", "async_connect"},
      {"detect_ssl_op", "async_detect_ssl"},
      {"handshake_op", "async_handshake"},
      {"ping_op", "async_ping"},  // async_pong too
      {"read_msg_op", "async_read"},
      {"read_op", "async_read"},
      {"read_some_op", "async_read_some"},
      {"response_op", "async_accept"},
      {"write_buffers_generator_op", "async_write"},
      {"write_msg_op", "async_write"},
      {"write_op", "async_write"},
      {"write_some_op", "async_write_some"},
  }};
  for (const auto& [type, function] : names) {
    if (name == type) return function;
  }
  return {};
}

/// The same, from the type of an initiation, or of the implementation of a composed operation.
template <class T>
constexpr std::string_view beast_name_of() noexcept {
  std::string_view name = type_name<T>();
  if (!name.starts_with("boost::beast::")) return {};
  // websocket::stream<...>::run_read_op, or http::detail::read_op<...>
  auto at = name.rfind("::run_");
  if (at == name.npos) at = name.substr(0, name.find('<')).rfind("::");
  const std::string_view type = identifier_at_start(name.substr(at + 2));
  // async_write() and async_write_some() of a WebSocket have one type.
  if (name.starts_with("boost::beast::websocket::") && type == "run_write_some_op") {
    return "async_write";
  }
  // Of basic_stream and other streams, which have only these two.
  const bool is_stream = name.substr(0, at).ends_with("::ops");
  if (is_stream && type == "run_read_op") return "async_read_some";
  if (is_stream && type == "run_write_op") return "async_write_some";
  return beast_operation_name(type);
}

template <class Initiation, class... Arguments>
constexpr std::string_view find_operation_name() noexcept {
  constexpr std::string_view unknown = "an Asio operation";
  if constexpr (requires { Initiation::operation_name; }) {  // of name_operation()
    return Initiation::operation_name;
  } else {
    std::string_view name = type_name<Initiation>();
    constexpr std::string_view prefix = "initiate_";
    const auto at = name.find(prefix);
    if (at == name.npos || name.starts_with("boost::beast::")) {
      const std::string_view beast = beast_name_of<Initiation>();
      return beast.empty() ? unknown : beast;
    }
    name.remove_prefix(at + prefix.size());
    name = identifier_at_start(name);
    if (name != "composed_op") return public_operation_name(name);
    std::string_view implementation;
    ((implementation = implementation.empty() ? beast_name_of<Arguments>() : implementation), ...);
    return implementation.empty() ? "a composed operation" : implementation;
  }
}

/// The name of the function that created an operation with the initiation of this type, such as
/// "async_receive". A type without a name that is not like one of Asio's or Beast's gives "an Asio
/// operation". The arguments are those of the initiation.
template <class Initiation, class... Arguments>
inline constexpr std::string_view asio_operation_name =
    find_operation_name<Initiation, Arguments...>();

}  // namespace LEAT::detail
