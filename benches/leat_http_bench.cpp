// An HTTP server of Boost.Beast and its client in leat tasks, on one connection and one thread. The
// peer is asio_http_peer.
//
// http/get            a GET request and its response of 5 bytes; ns/request
// http/get-limits     the same, where each read and write of the server has a time limit

#include <leat/async/loop/async_run.hpp>
#include <leat/async/loop/use_task.hpp>

#include "support/http_messages.hpp"

namespace {

using namespace bench;
using leat::use_task;

leat::task<> serve(tcp::socket& s, long count) {
  beast::flat_buffer buffer;
  for (long i = 0; i < count; ++i) {
    http_request asked;
    co_await http::async_read(s, buffer, asked, use_task);
    const http_response r = answer(asked);
    co_await http::async_write(s, r, use_task);
  }
}

leat::task<> serve_with_limits(tcp::socket& s, long count) {
  beast::flat_buffer buffer;
  for (long i = 0; i < count; ++i) {
    http_request asked;
    co_await leat::with_timeout(http::async_read(s, buffer, asked, use_task), http_limit);
    const http_response r = answer(asked);
    co_await leat::with_timeout(http::async_write(s, r, use_task), http_limit);
  }
}

leat::task<> ask(tcp::socket& s, long count) {
  const http_request asked = make_request();
  beast::flat_buffer buffer;
  for (long i = 0; i < count; ++i) {
    co_await http::async_write(s, asked, use_task);
    http_response answered;
    co_await http::async_read(s, buffer, answered, use_task);
  }
}

struct leat_library {
  static void start(asio::io_context& io, tcp::socket& server, tcp::socket& client,
                    const request& r, long count) {
    if (r.workload == "http/get") {
      leat::async_run(io, serve(server, count), asio::detached);
    } else if (r.workload == "http/get-limits") {
      leat::async_run(io, serve_with_limits(server, count), asio::detached);
    } else {
      unknown(r);
    }
    leat::async_run(io, ask(client, count), asio::detached);
  }
};

}  // namespace

int main(int argc, char** argv) { return run_http<leat_library>(argc, argv, "leat"); }
