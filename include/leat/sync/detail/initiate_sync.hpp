#pragma once

#include <source_location>
#include <system_error>
#include <type_traits>
#include <utility>

#include <asio/async_result.hpp>

#include "leat/async/detail/asio_misuse.hpp"
#include "leat/sync/detail/sync_awaiter.hpp"

namespace leat::detail {

template <class Operation, class Handler>
class async_sync_operation;

template <class R>
struct sync_signature {
  using type = void(std::error_code, R);
};
template <>
struct sync_signature<void> {
  using type = void(std::error_code);
};

template <class T>
concept is_complete = requires { sizeof(T); };

/// Starts an operation with a completion token. The operation is defined in
/// async_sync_operation.hpp, which includes most of Asio and which only programs with completion
/// tokens need.
template <class Operation, class Token>
auto initiate_sync(typename Operation::object_type& object, Operation operation,
                   const std::source_location& where, Token&& token) {
  using signature = typename sync_signature<sync_result<Operation>>::type;
  static_assert(completion_handler<std::decay_t<Token>, signature>::is_function);
  return asio::async_initiate<Token, signature>(
      [&object, where](auto&& handler, Operation started) {
        using pending = async_sync_operation<Operation, std::decay_t<decltype(handler)>>;
        static_assert(is_complete<pending>,
                      "async_acquire() and the other async_ operations need another header: write "
                      "#include <leat/sync/completion_tokens.hpp>");
        pending::start(object, std::forward<decltype(handler)>(handler), where, std::move(started));
      },
      token, std::move(operation));
}

}  // namespace leat::detail
