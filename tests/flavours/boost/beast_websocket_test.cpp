// Operations of a WebSocket of Boost.Beast, which wait for each other.

#include <string>

#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/websocket.hpp>

#include "async/loop/asio_support.hpp"
#include "leat/async/loop/use_task.hpp"
#include "support/leat_test.hpp"

namespace beast_websocket_test {

using namespace std::chrono_literals;
using local = boost::asio::local::stream_protocol;
using socket = leat::use_task_t::as_default_on_t<local::socket>;
using stream = boost::beast::websocket::stream<socket>;

LEAT_ASIO_TEST("use_task: a limit ends an operation of a WebSocket that waits for another one") {
  const auto executor = leat::get_executor(leat::this_task::get_scheduler());
  stream client(executor);
  stream server(executor);
  boost::asio::local::connect_pair(client.next_layer(), server.next_layer());
  const auto accept = [&]() -> leat::task<> { co_await server.async_accept(); };
  const auto connect = [&]() -> leat::task<> { co_await client.async_handshake("host", "/"); };
  co_await leat::when_all(accept(), connect());

  const std::string large(8 << 20, 'x');
  leat::asio_error_code ping;
  boost::beast::flat_buffer received;
  server.read_message_max(large.size());
  client.auto_fragment(false);  // the pings wait until the message has been written
  const auto write = [&]() -> leat::task<> { co_await client.async_write(asio::buffer(large)); };
  const auto read = [&]() -> leat::task<> {
    for (int i = 0; i < 2; ++i) {  // the second time, its memory is used again
      const auto [ec] = co_await leat::as_tuple(leat::with_timeout(client.async_ping({}), 5ms));
      ping = ec;
    }
    co_await server.async_read(received);
  };
  co_await leat::when_all(write(), read());
  CHECK(ping == leat::errc::deadline_exceeded);
  CHECK(received.size() == large.size());
  co_await client.async_ping({});
}

}  // namespace beast_websocket_test
