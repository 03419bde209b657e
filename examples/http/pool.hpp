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
  /// `open` connects. At most `connections` requests are in progress at a time; further ones wait.
  pool(std::string host, std::size_t connections, std::function<leat::task<Stream>()> open)
      : host_(std::move(host)), open_(std::move(open)), slots_(connections, "connections") {}

  /// Sends a GET request and receives the response. If the server closes an idle connection while
  /// it receives the request, the request is repeated on another one.
  leat::task<response> get(std::string target) {
    const auto slot = co_await slots_.acquire();
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
    const auto [ec, n] = co_await leat::as_tuple(
        leat::with_timeout(stream.async_read_some(boost::asio::buffer(byte)), 0s));
    co_return ec == leat::errc::deadline_exceeded&& n == 0;
  }

  /// Returns the connection to the idle ones only after a complete response.
  leat::task<response> exchange(connection& c, const std::string& target) {
    http::request<http::empty_body> asked(http::verb::get, target, 11);
    asked.set(http::field::host, host_);
    co_await http::async_write(c.stream, asked);
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
  leat::semaphore slots_;
  std::vector<connection> idle_;
  long opened_ = 0;
};
//! [/pool]

//! [hedge]
/// Sends a second request if the first one has not been answered after `delay`, and returns the
/// response that arrives first. The other request is stopped, and its connection is closed.
template <class Stream>
leat::task<response> get_hedged(pool<Stream>& p, std::string target, milliseconds delay) {
  const auto later = [](pool<Stream>& from, std::string path,
                        milliseconds d) -> leat::task<response> {
    co_await leat::sleep_for(d);
    co_return co_await from.get(path);
  };
  auto both = co_await leat::when_any_success(p.get(target), later(p, target, delay));
  auto& [first, second] = both;
  if (first) co_return std::move(*first);
  co_return std::move(*second);
}
//! [/hedge]

}  // namespace http_client
