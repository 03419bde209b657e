#include "leat/tls/tls_connect.hpp"

#include <memory>
#include <utility>

#include "leat/async/as_tuple.hpp"
#include "leat/base/asio.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/assert.hpp"
#include "tls/tls_context_state.hpp"
#include "tls/tls_engine.hpp"
#include "tls/tls_stream.hpp"

#include LEAT_ASIO(error.hpp)
#include LEAT_ASIO(write.hpp)

namespace LEAT {
namespace {

using detail::tls_engine;

// A client of a Unix socket has no address.
std::string name_of(const connection& c) {
  const endpoint peer = c.peer();
  return (peer ? peer : c.local()).text();
}

task<> send_output(connection& c, tls_engine& engine) {
  const std::string bytes = std::exchange(engine.output(), {});
  if (!bytes.empty()) co_await asio::async_write(c, asio::buffer(bytes), use_task);
}

[[noreturn]] void fail(const tls_engine& engine, const std::string& what) {
  if (const auto problem = engine.certificate_problem(); !problem.empty()) {
    throw failure(errc::unauthenticated,
                  what + ": certificate verify failed: " + std::string(problem));
  }
  throw failure(engine.error(), what);
}

// The peer learns the reason of a failure from an alert, which is sent before the exception.
task<connection> shake_hands(connection c, std::unique_ptr<tls_engine> engine, std::string what) {
  for (;;) {
    const auto outcome = engine->shake_hands();
    if (outcome == tls_engine::outcome::failed) {
      static_cast<void>(co_await as_tuple(send_output(c, *engine)));
      fail(*engine, what);
    }
    co_await send_output(c, *engine);
    if (outcome == tls_engine::outcome::done) break;
    if (outcome == tls_engine::outcome::wants_output) continue;
    const auto bytes = co_await c.async_read_some_or_end(engine->input_space());
    if (!bytes) {
      throw failure(asio::error::make_error_code(asio::error::eof),
                    what + ": the peer closed the connection during the handshake");
    }
    engine->received(*bytes);
  }
  co_return connection(std::make_unique<detail::tls_stream>(std::move(c), std::move(engine)));
}

}  // namespace

task<connection> tls_connect(connection c, tls_context context, std::string server_name) {
  LEAT_ASSERT(c.is_open(), "tls_connect: the connection is closed");
  if (!context.state()->is_client()) {
    throw failure(errc::invalid_argument,
                  "tls_connect needs a context of tls_context::client(), not of server()");
  }
  auto engine = std::make_unique<tls_engine>(context.state(), server_name);
  std::string what = "tls_connect to " + name_of(c);
  if (!server_name.empty()) what += " (server name " + server_name + ")";
  co_return co_await shake_hands(std::move(c), std::move(engine), std::move(what));
}

task<connection> tls_accept(connection c, tls_context context) {
  LEAT_ASSERT(c.is_open(), "tls_accept: the connection is closed");
  if (context.state()->is_client()) {
    throw failure(errc::invalid_argument,
                  "tls_accept needs a context of tls_context::server(), not of client()");
  }
  auto engine = std::make_unique<tls_engine>(context.state(), std::string_view());
  std::string what = "tls_accept from " + name_of(c);
  co_return co_await shake_hands(std::move(c), std::move(engine), std::move(what));
}

}  // namespace LEAT
