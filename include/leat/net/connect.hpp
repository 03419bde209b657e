#pragma once

#include <memory>
#include <source_location>
#include <type_traits>
#include <utility>
#include <vector>

#include "leat/async/operation/forms.hpp"
#include "leat/async/task.hpp"
#include "leat/net/connection.hpp"
#include "leat/net/connection_options.hpp"
#include "leat/net/detail/connect_state.hpp"
#include "leat/net/detail/handler_with_default.hpp"
#include "leat/net/endpoint.hpp"

namespace LEAT {

/// Connects to `to`, which is resolved first if it is a name.
///
///     leat::connection c = co_await leat::connect("db.example.com:5432");
///     co_await leat::with_timeout(leat::connect(to), 5s);
///
/// If the name has several addresses, connect() tries them in order. If one has not answered after
/// 250 ms, connect() also tries the next one, and the first to connect wins (RFC 8305). The kernel
/// gives up after about two minutes, so use a limit.
///
/// The connection belongs to the scheduler of the calling task.
///
/// Errors:       those of the system, such as `asio::error::connection_refused`; the message has
///               the endpoint and each address with its error. not_found, if the name is unknown.
///               invalid_argument for `*` or port 0. failed_precondition outside a task.
/// Cancellation: ends at once and leaves nothing connected. It may have opened connections, but has
///               closed them.
[[nodiscard]] inline awaits<connection> auto connect(
    endpoint to, connection_options options = {},
    std::source_location where = std::source_location::current()) {
  return await_operation<detail::connect_operation>(where, nullptr, std::move(to), options);
}
/// Like connect(to), but the connection belongs to the scheduler `on`, where the attempts run. For
/// threads without a scheduler: `block_on(connect(on, to), 5s)`.
[[nodiscard]] inline awaits<connection> auto connect(
    scheduler& on, endpoint to, connection_options options = {},
    std::source_location where = std::source_location::current()) {
  return await_operation<detail::connect_operation>(where, &on, std::move(to), options);
}
/// Like connect(on, to), with a completion token. Needs <leat/async/loop/completion_tokens.hpp>.
///
/// Completion: void(asio_error_code, connection), on `on` if the handler has no executor.
template <class Token>
auto async_connect(scheduler& on, endpoint to, connection_options options, Token&& token,
                   std::source_location where = std::source_location::current()) {
  return asio::async_initiate<Token, void(asio_error_code, connection)>(
      [where, &on](auto&& handler, endpoint e, const connection_options& o) {
        using with_default = detail::handler_with_default<std::decay_t<decltype(handler)>>;
        initiate<detail::connect_operation>(where, with_default(std::move(handler), on), &on,
                                            std::move(e), o);
      },
      token, std::move(to), options);
}

/// Returns the addresses of a name, alternating between IPv6 and IPv4, best first. An address, `*`
/// or a path is returned unchanged. The system's resolver runs on a separate thread; at most 32
/// lookups run at a time.
///
/// Errors:       not_found, if the name is unknown; unavailable, if no name server answers;
///               failed_precondition outside a task.
/// Cancellation: ends at once; the lookup continues in the background.
[[nodiscard]] task<std::vector<endpoint>> resolve(endpoint name);

}  // namespace LEAT
