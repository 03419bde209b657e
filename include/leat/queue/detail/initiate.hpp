#pragma once

#include <source_location>
#include <system_error>
#include <type_traits>
#include <utility>

#include <asio/async_result.hpp>

#include "leat/async/detail/asio_misuse.hpp"
#include "leat/queue/detail/queue_operations.hpp"
#include "leat/queue/queue_base.hpp"

namespace leat::detail {

template <class T>
concept is_defined = requires { sizeof(T); };

/// Starts an operation with a completion token; `arguments` are the constructor arguments of the
/// operation.
///
/// The operation is defined in async_queue_operation.hpp, which includes most of Asio and which
/// only programs with completion tokens need.
template <class Operation, class Queue, class Token, class... Arguments>
auto initiate(Queue& q, const std::source_location& where, Token&& token,
              Arguments&&... arguments) {
  using signature = void(std::error_code, operation_result<Operation>);
  static_assert(completion_handler<std::decay_t<Token>, signature>::is_function);
  return asio::async_initiate<Token, signature>(
      [&q, where](auto&& handler, auto&&... values) {
        using operation = async_queue_operation<Queue, Operation, std::decay_t<decltype(handler)>>;
        static_assert(is_defined<operation>,
                      "async_push() and the other async_ operations need another header: write "
                      "#include <leat/queue/completion_tokens.hpp>");
        operation::start(q, std::forward<decltype(handler)>(handler), where,
                         std::forward<decltype(values)>(values)...);
      },
      token, std::forward<Arguments>(arguments)...);
}

}  // namespace leat::detail
