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

template <class Initiation>
constexpr std::string_view find_operation_name() noexcept {
  if constexpr (requires { Initiation::operation_name; }) {  // of name_operation()
    return Initiation::operation_name;
  } else {
    std::string_view name = __PRETTY_FUNCTION__;
    constexpr std::string_view prefix = "initiate_";
    const auto at = name.find(prefix);
    if (at == name.npos) return "an Asio operation";
    name.remove_prefix(at + prefix.size());
    name = name.substr(0, name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789"));
    return name == "composed_op" ? "a composed operation" : public_operation_name(name);
  }
}

/// The name of the function that created an operation with the initiation of this type, such as
/// "async_receive". A type without a name that is not like one of Asio's gives "an Asio operation".
template <class Initiation>
inline constexpr std::string_view asio_operation_name = find_operation_name<Initiation>();

}  // namespace LEAT::detail
