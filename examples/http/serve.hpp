#pragma once

// An HTTP/1.1 server for one connection: a template over Asio's AsyncStream, such as a socket or a
// TLS stream. The time limits are those of leat.

#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <leat/leat.hpp>

namespace http_server {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using namespace std::chrono_literals;
using std::chrono::milliseconds;
using request = http::request<http::string_body>;

//! [limits]
struct limits {
  std::uint32_t header_size = 8 * 1024;
  std::uint64_t body_size = 1024 * 1024;
  milliseconds idle = 60s;     // until the first byte of the next request
  milliseconds header = 10s;   // until the end of its header
  milliseconds body = 30s;     // until the end of its body
  milliseconds handler = 30s;  // until the handler returns
  milliseconds write = 30s;    // to send a response, or 64 KiB of a file
};
//! [/limits]

/// A response. If `file` is open, its bytes are the body.
struct response {
  http::response<http::string_body> message;
  leat::file file = {};
};

inline response text(http::status status, std::string body) {
  http::response<http::string_body> message(status, 11);
  message.set(http::field::content_type, "text/plain");
  message.body() = std::move(body);
  return {std::move(message)};
}

/// The state of a server, for all of its connections.
struct service {
  std::function<leat::task<response>(const request&)> handle = {};
  limits limit = {};
  std::stop_source draining = {};   // after its stop, a connection closes instead of waiting
  long requests = 0, failures = 0;  // failures: responses with a status of 400 or more
  leat::rate_limiter log_lines{1, 1s, 20, "log lines of handlers"};
};

//! [first]
/// Waits for the first bytes of a request. Returns false if the connection is to be closed: after
/// its end, an error or the idle time, or when the drain has begun and no byte has arrived.
template <class Stream>
leat::task<bool> wait_for_request(Stream& stream, beast::flat_buffer& buffer, const service& s) {
  if (buffer.size() > 0) co_return true;  // the client has sent its next request ahead
  const auto first = co_await leat::as_tuple(leat::with_timeout(
      leat::with_stop(stream.async_read_some(buffer.prepare(4096)), s.draining.get_token()),
      s.limit.idle));
  buffer.commit(first.value);
  if (first.error == leat::errc::cancelled && first.value == 0) {
    // The drain has begun. Takes a request that has arrived by now.
    const auto last = co_await leat::as_tuple(
        leat::with_timeout(stream.async_read_some(buffer.prepare(4096)), 0s));
    buffer.commit(last.value);
  }
  co_return buffer.size() > 0;
}
//! [/first]

//! [read]
/// Reads the rest of a request. Returns the error.
template <class Stream>
leat::task<leat::asio_error_code> read_request(Stream& stream, beast::flat_buffer& buffer,
                                               http::request_parser<http::string_body>& parser,
                                               const limits& limit) {
  parser.header_limit(limit.header_size);
  parser.body_limit(limit.body_size);
  const auto header = co_await leat::as_tuple(
      leat::with_timeout(http::async_read_header(stream, buffer, parser), limit.header));
  if (header.error) co_return header.error;
  if (beast::iequals(parser.get()[http::field::expect], "100-continue")) {
    const http::response<http::empty_body> interim(http::status::continue_, 11);
    co_await leat::with_timeout(http::async_write(stream, interim), limit.write);
  }
  const auto body = co_await leat::as_tuple(
      leat::with_timeout(http::async_read(stream, buffer, parser), limit.body));
  co_return body.error;
}
//! [/read]

//! [bad]
/// Returns the response to a request that could not be read, or nothing if the connection is lost.
inline std::optional<response> response_to_bad_request(const leat::asio_error_code& ec) {
  using http::error;
  if (ec == leat::errc::deadline_exceeded)
    return text(http::status::request_timeout, "the request takes too long\n");
  if (ec == error::header_limit || ec == error::buffer_overflow)
    return text(http::status::request_header_fields_too_large, "the header is too large\n");
  if (ec == error::body_limit)
    return text(http::status::payload_too_large, "the body is too large\n");
  const auto& protocol = make_error_code(error::bad_method).category();
  if (ec.category() != protocol) return std::nullopt;
  return text(http::status::bad_request, ec.message() + '\n');
}
//! [/bad]

//! [handle]
/// Calls the handler. If it throws an exception, the response is 500, or 503 if a timeout has
/// expired, and the server continues.
inline leat::task<response> handle(service& s, const request& req) {
  auto status = http::status::internal_server_error;
  try {
    co_return co_await leat::with_timeout(s.handle(req), s.limit.handler);
  } catch (const std::exception& e) {
    if (leat::this_task::stop_requested()) throw;  // the drain has run out of time
    if (leat::to_error_code(std::current_exception()) == leat::errc::deadline_exceeded)
      status = http::status::service_unavailable;
    if (s.log_lines.try_acquire())
      std::cerr << req.method_string() << ' ' << req.target() << ": " << e.what() << std::endl;
  }
  co_return text(status, std::string(http::obsolete_reason(status)) + '\n');
}
//! [/handle]

//! [write]
template <class Stream>
leat::task<> write_response(Stream& stream, response& r, bool is_head, milliseconds limit) {
  const std::uint64_t size = r.file.is_open() ? r.file.status().size : r.message.body().size();
  r.message.content_length(size);
  http::response_serializer<http::string_body> serializer(r.message);
  if (is_head || r.file.is_open()) {
    co_await leat::with_timeout(http::async_write_header(stream, serializer), limit);
  } else {
    co_await leat::with_timeout(http::async_write(stream, serializer), limit);
  }
  std::vector<std::byte> bytes(is_head || !r.file.is_open() ? 0 : 64 * 1024);
  for (std::uint64_t at = 0; !bytes.empty() && at < size;) {
    const std::span<std::byte> piece(bytes.data(),
                                     std::min<std::uint64_t>(bytes.size(), size - at));
    const std::size_t n = co_await r.file.read_at(at, piece);
    if (n == 0) throw leat::failure(leat::errc::data_loss, r.file.path() + ": became shorter");
    co_await leat::with_timeout(asio::async_write(stream, asio::buffer(bytes.data(), n)), limit);
    at += n;
  }
}
//! [/write]

//! [serve]
/// Serves the requests of a connection, one after the other.
template <class Stream>
leat::task<> serve(Stream& stream, service& s) {
  beast::flat_buffer buffer(s.limit.header_size + 64 * 1024);
  bool keep_alive = co_await wait_for_request(stream, buffer, s);
  while (keep_alive) {
    http::request_parser<http::string_body> parser;
    const leat::asio_error_code ec = co_await read_request(stream, buffer, parser, s.limit);
    std::optional<response> r = response_to_bad_request(ec);
    if (!ec) {
      r = co_await handle(s, parser.get());
    } else if (!r) {
      throw leat::failure(ec, "read");
    }
    ++s.requests;
    if (r->message.result_int() >= 400) ++s.failures;
    // The drain answers the requests that have arrived before it closes the connection.
    const bool is_last = s.draining.stop_requested() && buffer.size() == 0;
    keep_alive = !ec && parser.get().keep_alive() && !is_last;
    r->message.version(parser.get().version());
    r->message.keep_alive(keep_alive);
    co_await write_response(stream, *r, parser.get().method() == http::verb::head, s.limit.write);
    if (keep_alive) keep_alive = co_await wait_for_request(stream, buffer, s);
  }
}
//! [/serve]

}  // namespace http_server
