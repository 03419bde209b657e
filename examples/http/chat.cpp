/// A WebSocket chat of Boost.Beast in leat tasks: each message goes to all clients.
///
///     http_chat port=8080
///     http_chat port=8443 certificate=server.pem key=server.key
///
/// A slow client delays no other one. If it falls behind by more than `history` messages, it
/// misses the oldest ones and receives their number. If it takes more than `write` ms to receive a
/// message, its connection ends. A ping is sent to each client every `ping` ms. If the client has
/// sent nothing by the next ping, its connection ends. After SIGTERM or SIGINT, the clients receive
/// the code "going away".

#include <iostream>

#include <boost/beast/core.hpp>
#include <boost/beast/websocket.hpp>
#include <boost/beast/websocket/ssl.hpp>

#include "run_server.hpp"

namespace {

namespace beast = boost::beast;
namespace websocket = beast::websocket;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

struct settings {
  std::size_t history, message_size;
  milliseconds write, ping;
};

using message = std::shared_ptr<const std::string>;
using room = leat::broadcast<message>;

//! [read]
// Sends the messages of a client to the room, until the client leaves or sends a binary message.
template <class Stream>
leat::task<> receive(websocket::stream<Stream>& ws, room& r, const settings& s,
                     leat::time_point& heard) {
  for (beast::flat_buffer buffer;; buffer.clear()) {
    const auto read = co_await leat::as_tuple(ws.async_read(buffer));
    if (read.error == websocket::error::closed) co_return;
    if (read.error) throw leat::failure(read.error, "read");
    if (!ws.got_text()) {  // Beast has checked that a text is UTF-8
      co_await leat::with_timeout(ws.async_close(websocket::close_code::unknown_data), s.write);
      co_return;
    }
    heard = leat::this_task::get_scheduler().now();
    r.try_send(std::make_shared<const std::string>(beast::buffers_to_string(buffer.data())));
  }
}
//! [/read]

//! [write]
// Sends the messages of the room and pings to a client, until the room is closed. A client that has
// sent nothing between two pings is lost.
template <class Stream>
leat::task<> send(websocket::stream<Stream>& ws, room::receiver messages, const settings& s,
                  const leat::time_point& heard) {
  const auto write = [&](const std::string& text) {
    return leat::with_timeout(ws.async_write(boost::asio::buffer(text)), s.write);
  };
  const leat::scheduler& clock = leat::this_task::get_scheduler();
  leat::time_point pinged = heard, next_ping = clock.now() + s.ping;
  for (;;) {
    // The timer is the first operation, so messages that are waiting do not delay it.
    const auto next = co_await leat::select(leat::sleep_until(next_ping), messages.next());
    if (next.index() == 0) {
      if (heard < pinged) throw leat::failure(leat::errc::deadline_exceeded, "no answer to a ping");
      pinged = clock.now();
      co_await leat::with_timeout(ws.async_ping({}), s.write);
      next_ping = clock.now() + s.ping;
      continue;
    }
    const auto& m = std::get<1>(next);
    if (!m) break;
    const std::string missed = "(" + std::to_string(m->missed) + " messages missed)";
    if (m->missed > 0) co_await write(missed);
    co_await write(*m->value);
  }
  co_await leat::with_timeout(ws.async_close(websocket::close_code::going_away), s.write);
}
//! [/write]

//! [client]
template <class Stream>
leat::task<> serve(Stream& stream, room& r, const settings& s) {
  websocket::stream<Stream&> ws(stream);
  ws.read_message_max(s.message_size);
  const leat::scheduler& clock = leat::this_task::get_scheduler();
  leat::time_point heard = clock.now();
  // Beast calls this function in a handler, not in a task: this_task would end the process.
  ws.control_callback([&](websocket::frame_type, beast::string_view) { heard = clock.now(); });
  co_await leat::with_timeout(ws.async_accept(), s.write);
  co_await leat::when_any(receive(ws, r, s, heard), send(ws, r.subscribe(), s, heard));
}
//! [/client]

leat::task<int> run(network::server_options options, settings s) {
  room r(s.history, "room");
  std::stop_source draining;
  const std::stop_callback close(draining.get_token(), [&] { r.close(); });
  const auto serve_one = [&](auto& stream) { return serve(stream, r, s); };
  co_return co_await network::run_server(options, draining, serve_one);
}

}  // namespace

int main(int argc, char** argv) try {
  network::arguments args(argc, argv);
  const auto options = network::read_options(args);
  const settings s{.history = args.get("history", std::size_t{64}),
                   .message_size = args.get("message_size", std::size_t{64 * 1024}),
                   .write = args.get("write", 10'000ms),
                   .ping = args.get("ping", 30'000ms)};
  args.require_no_others();
  return leat::run([&] { return run(options, s); }, {.signals = {}});
} catch (const std::exception& e) {
  std::cerr << "error: " << e.what() << '\n';
  return 2;
}
