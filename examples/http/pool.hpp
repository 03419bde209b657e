#pragma once

// An HTTP client with a bounded pool of connections to one origin: a template over Asio's
// AsyncStream. A request that fails or is stopped never returns its connection to the pool, so no
// request reads the response of an earlier one.

#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <leat/leat.hpp>

namespace http_client {

namespace beast = boost::beast;
namespace http = beast::http;
using namespace std::chrono_literals;
using std::chrono::milliseconds;
using response = http::response<http::string_body>;

//! [pool]
template <class Stream>
class pool {
 public:
  /// `host` is the field Host of the requests, such as "localhost:8080", and `open` connects. At
  /// most `connections` requests are in progress at a time; further ones wait.
  pool(std::string host, std::size_t connections, std::function<leat::task<Stream>()> open)
      : host_(std::move(host)), open_(std::move(open)), permits_(connections, "connections") {}

  /// Sends a GET request and receives the response. If the server closes an idle connection while
  /// it receives the request, the request is repeated on another one. `target` is sent as it is, so
  /// it must be percent-encoded. `begun` is set when the wait for a connection ends.
  leat::task<response> get(std::string target, leat::event* begun = nullptr) {
    const auto permit = co_await permits_.acquire();
    if (begun) begun->set();
    while (!idle_.empty()) {
      connection c = std::move(idle_.back());
      idle_.pop_back();
      if (!co_await is_silent(c.stream)) continue;
      auto received = co_await leat::as_tuple(exchange(c, target));
      if (!received.error) co_return std::move(received.value);
      if (received.error == leat::errc::cancelled || c.has_answered)
        throw leat::failure(received.error, "GET " + target);
    }
    connection c(co_await open_());
    ++opened_;
    co_return co_await exchange(c, target);
  }

  /// The number of connections that were opened so far.
  [[nodiscard]] long opened() const noexcept { return opened_; }

 private:
  struct connection {
    explicit connection(Stream s) : stream(std::move(s)) {}
    Stream stream;
    beast::flat_buffer buffer{64 * 1024};
    bool has_answered = false;  // a byte of the response has arrived
  };

  /// Returns false if the server has closed an idle connection, or has sent bytes that no request
  /// has asked for.
  static leat::task<bool> is_silent(Stream& stream) {
    std::array<char, 1> byte;
    const auto read = co_await leat::as_tuple(
        leat::with_timeout(stream.async_read_some(boost::asio::buffer(byte)), 0s));
    co_return read.value == 0 && read.error == leat::errc::deadline_exceeded;
  }

  /// Returns the connection to the idle ones only after a complete response.
  leat::task<response> exchange(connection& c, const std::string& target) {
    http::request<http::empty_body> request(http::verb::get, target, 11);
    request.set(http::field::host, host_);
    co_await http::async_write(c.stream, request);
    http::response_parser<http::string_body> parser;
    const auto header =
        co_await leat::as_tuple(http::async_read_header(c.stream, c.buffer, parser));
    c.has_answered = parser.got_some();
    if (header.error) throw leat::failure(header.error, "GET " + target);
    co_await http::async_read(c.stream, c.buffer, parser);
    c.has_answered = false;
    if (parser.get().keep_alive() && c.buffer.size() == 0) idle_.push_back(std::move(c));
    co_return parser.release();
  }

  const std::string host_;
  const std::function<leat::task<Stream>()> open_;
  leat::semaphore permits_;
  std::vector<connection> idle_;
  long opened_ = 0;
};
//! [/pool]

//! [hedge]
/// Sends a second request if the first one has a connection, but no response after `delay`. Returns
/// the response that arrives first. The other request is stopped, and its connection is closed.
template <class Stream>
leat::task<response> get_hedged(pool<Stream>& p, std::string target, milliseconds delay) {
  leat::event begun("hedged request");
  const auto later = [&]() -> leat::task<response> {
    co_await begun.wait();  // a full pool is no reason for a second request
    co_await leat::sleep_for(delay);
    co_return co_await p.get(target);
  };
  auto both = co_await leat::when_any_success(p.get(target, &begun), later());
  auto& [first, second] = both;
  if (first) co_return std::move(*first);
  co_return std::move(*second);
}
//! [/hedge]

}  // namespace http_client
