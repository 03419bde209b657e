// An HTTP server of Boost.Beast and its client in coroutines of Asio: the peer of leat_http_bench.
//
// http/get            without time limits
// http/get-limits     a timer for the connection, which each read and write of the server sets
//                     again, and whose handler closes the socket
// http/get-limits/or  the operator || of each read and write with a timer

#include <boost/asio/experimental/awaitable_operators.hpp>

#include "support/http_messages.hpp"

namespace {

using namespace bench;
using asio::use_awaitable;
using task = asio::awaitable<void>;

task serve(tcp::socket& s, long count) {
  beast::flat_buffer buffer;
  for (long i = 0; i < count; ++i) {
    http_request asked;
    co_await http::async_read(s, buffer, asked, use_awaitable);
    const http_response r = answer(asked);
    co_await http::async_write(s, r, use_awaitable);
  }
}

task serve_with_timer(tcp::socket& s, long count) {
  asio::steady_timer timer(s.get_executor());
  const auto begin_limit = [&] {
    timer.expires_after(http_limit);  // cancels the earlier wait
    timer.async_wait([&s](const boost::system::error_code& ec) {
      if (!ec) s.close();
    });
  };
  beast::flat_buffer buffer;
  for (long i = 0; i < count; ++i) {
    http_request asked;
    begin_limit();
    co_await http::async_read(s, buffer, asked, use_awaitable);
    const http_response r = answer(asked);
    begin_limit();
    co_await http::async_write(s, r, use_awaitable);
  }
}

task serve_with_or(tcp::socket& s, long count) {
  using namespace asio::experimental::awaitable_operators;
  asio::steady_timer timer(s.get_executor());
  beast::flat_buffer buffer;
  for (long i = 0; i < count; ++i) {
    http_request asked;
    timer.expires_after(http_limit);
    co_await (http::async_read(s, buffer, asked, use_awaitable) || timer.async_wait(use_awaitable));
    const http_response r = answer(asked);
    timer.expires_after(http_limit);
    co_await (http::async_write(s, r, use_awaitable) || timer.async_wait(use_awaitable));
  }
}

task ask(tcp::socket& s, long count) {
  const http_request asked = make_request();
  beast::flat_buffer buffer;
  for (long i = 0; i < count; ++i) {
    co_await http::async_write(s, asked, use_awaitable);
    http_response answered;
    co_await http::async_read(s, buffer, answered, use_awaitable);
  }
}

struct asio_library {
  static void start(asio::io_context& io, tcp::socket& server, tcp::socket& client,
                    const request& r, long count) {
    if (r.workload == "http/get") {
      asio::co_spawn(io, serve(server, count), asio::detached);
    } else if (r.workload == "http/get-limits") {
      asio::co_spawn(io, serve_with_timer(server, count), asio::detached);
    } else if (r.workload == "http/get-limits/or") {
      asio::co_spawn(io, serve_with_or(server, count), asio::detached);
    } else {
      unknown(r);
    }
    asio::co_spawn(io, ask(client, count), asio::detached);
  }
};

}  // namespace

int main(int argc, char** argv) {
  const bool is_or = parse(argc, argv).workload.ends_with("/or");
  return run_http<asio_library>(
      argc, argv,
      is_or ? "boost::asio::awaitable, a timer per operation" : "boost::asio::awaitable");
}
