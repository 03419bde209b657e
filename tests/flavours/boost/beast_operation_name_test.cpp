// The names of Boost.Beast's operations in messages and dumps.

#include <string_view>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast.hpp>
#include <boost/beast/ssl.hpp>

#include "leat/async/loop/use_task.hpp"
#include "support/leat_test.hpp"

namespace beast_operation_name_test {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;
using asio::ip::tcp;

template <class>
constexpr std::string_view name = "";
template <class Signature, class Initiation, class... Arguments>
constexpr std::string_view name<leat::detail::asio_operation<Signature, Initiation, Arguments...>> =
    leat::detail::asio_operation_name<Initiation, Arguments...>;

// Only for types: no operation is created.
template <class T>
constexpr T& the() noexcept {
  return std::declval<T&>();
}
#define LEAT_NAME(operation) name<decltype(operation)>

using default_socket = leat::use_task_t::as_default_on_t<tcp::socket>;
using tls = asio::ssl::stream<default_socket>;
using parser = http::request_parser<http::string_body>;
using message = http::request<http::string_body>;
using serializer = http::request_serializer<http::string_body>;
using buffer = beast::flat_buffer;

template <class Stream>
constexpr bool http_operations_have_names() {
  auto read = LEAT_NAME(http::async_read(the<Stream>(), the<buffer>(), the<message>()));
  auto parse = LEAT_NAME(http::async_read(the<Stream>(), the<buffer>(), the<parser>()));
  auto header = LEAT_NAME(http::async_read_header(the<Stream>(), the<buffer>(), the<parser>()));
  auto some = LEAT_NAME(http::async_read_some(the<Stream>(), the<buffer>(), the<parser>()));
  auto write = LEAT_NAME(http::async_write(the<Stream>(), the<message>()));
  auto all = LEAT_NAME(http::async_write(the<Stream>(), the<serializer>()));
  auto piece = LEAT_NAME(http::async_write_some(the<Stream>(), the<serializer>()));
  return read == "async_read" && parse == "async_read" && header == "async_read" &&
         some == "async_read_some" && write == "async_write" && all == "async_write" &&
         piece == "async_write_some";
}

template <class Stream>
constexpr bool websocket_operations_have_names() {
  using ws = websocket::stream<Stream>;
  auto accept = LEAT_NAME(the<ws>().async_accept());
  auto answer = LEAT_NAME(the<ws>().async_accept(the<http::request<http::string_body>>()));
  auto handshake = LEAT_NAME(the<ws>().async_handshake("host", "/"));
  auto read = LEAT_NAME(the<ws>().async_read(the<buffer>()));
  auto write = LEAT_NAME(the<ws>().async_write(asio::const_buffer()));
  auto ping = LEAT_NAME(the<ws>().async_ping({}));
  auto close = LEAT_NAME(the<ws>().async_close(websocket::close_code::normal));
  return accept == "async_accept" && answer == "async_accept" && handshake == "async_handshake" &&
         read == "async_read" && write == "async_write" && ping == "async_ping" &&
         close == "async_close";
}

TEST_CASE("use_task: an operation of Boost.Beast has the name of its function") {
  STATIC_REQUIRE(http_operations_have_names<default_socket>());
  STATIC_REQUIRE(http_operations_have_names<tls>());
  STATIC_REQUIRE(websocket_operations_have_names<default_socket>());
  STATIC_REQUIRE(websocket_operations_have_names<tls>());
  using stream = leat::use_task_t::as_default_on_t<beast::tcp_stream>;
  STATIC_REQUIRE(LEAT_NAME(the<stream>().async_connect(the<tcp::endpoint>())) == "async_connect");
  STATIC_REQUIRE(LEAT_NAME(the<stream>().async_read_some(asio::mutable_buffer())) ==
                 "async_read_some");
}

TEST_CASE("use_task: an operation of a TLS stream has the name of its function") {
  STATIC_REQUIRE(LEAT_NAME(the<tls>().async_handshake(tls::server)) == "async_handshake");
  STATIC_REQUIRE(LEAT_NAME(the<tls>().async_shutdown()) == "async_shutdown");
  STATIC_REQUIRE(LEAT_NAME(the<tls>().async_read_some(asio::mutable_buffer())) ==
                 "async_read_some");
  STATIC_REQUIRE(LEAT_NAME(the<tls>().async_write_some(asio::const_buffer())) ==
                 "async_write_some");
}

TEST_CASE("use_task: an operation of another library that is named like one of Beast's has none") {
  struct run_read_op {};
  STATIC_REQUIRE(leat::detail::asio_operation_name<run_read_op> == "an Asio operation");
}

}  // namespace beast_operation_name_test
