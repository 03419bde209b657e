#pragma once

// The connection, the messages and the workloads of leat_http_bench and its peer.

#include <chrono>
#include <string_view>

#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include "support/bench.hpp"

namespace bench {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;

using http_request = http::request<http::string_body>;
using http_response = http::response<http::string_body>;

/// The limit of each read and write of the server. It never expires.
constexpr std::chrono::seconds http_limit{5};

inline http_request make_request() {
  http_request r(http::verb::get, "/index.html", 11);
  r.set(http::field::host, "localhost");
  r.set(http::field::user_agent, "bench");
  return r;
}

inline http_response answer(const http_request& asked) {
  http_response r(http::status::ok, asked.version());
  r.set(http::field::content_type, "text/plain");
  r.body() = "hello";
  r.keep_alive(asked.keep_alive());
  r.prepare_payload();
  return r;
}

/// Runs the workload of a library, which has a function start(io, server, client, request, count).
template <class Library>
int run_http(int argc, char** argv, const char* subject) {
  const request r = parse(argc, argv);
  pin(0);
  const double each = nanoseconds_each(r, [&](long count) {
    asio::io_context io{1};
    tcp::acceptor acceptor(io, {asio::ip::make_address("127.0.0.1"), 0});
    tcp::socket client(io);
    client.connect(acceptor.local_endpoint());
    tcp::socket server = acceptor.accept();
    client.set_option(tcp::no_delay(true));
    server.set_option(tcp::no_delay(true));
    Library::start(io, server, client, r, count);
    io.run();
  });
  return report(r, subject, each, "ns/item");
}

}  // namespace bench
