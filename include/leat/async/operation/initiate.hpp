#pragma once

#include <source_location>
#include <system_error>
#include <type_traits>
#include <utility>

#include "leat/async/detail/asio_misuse.hpp"
#include "leat/async/operation/operation.hpp"
#include "leat/base/asio.hpp"

#include LEAT_ASIO(async_result.hpp)

namespace LEAT {
namespace detail {

template <operation Operation, class Handler>
class handled_operation;

template <class R>
struct completion_signature {
  using type = void(asio_error_code, R);
};
template <>
struct completion_signature<void> {
  using type = void(asio_error_code);
};

template <class T>
concept is_complete = requires { sizeof(T); };

}  // namespace detail

/// Starts an operation with a completion token; `arguments` are the constructor arguments of the
/// operation. A call needs <leat/async/loop/completion_tokens.hpp>, which includes most of Asio.
template <operation Operation, class Token, class... Arguments>
auto initiate(const std::source_location& where, Token&& token, Arguments&&... arguments) {
  using signature = typename detail::completion_signature<result_of<Operation>>::type;
  static_assert(detail::completion_handler<std::decay_t<Token>, signature>::is_function);
  return asio::async_initiate<Token, signature>(
      [where](auto&& handler, auto&&... values) {
        using started = detail::handled_operation<Operation, std::decay_t<decltype(handler)>>;
        static_assert(detail::is_complete<started>,
                      "the async_ operations need another header: write "
                      "#include <leat/async/loop/completion_tokens.hpp>");
        started::start(std::forward<decltype(handler)>(handler), where,
                       std::forward<decltype(values)>(values)...);
      },
      token, std::forward<Arguments>(arguments)...);
}

}  // namespace LEAT
