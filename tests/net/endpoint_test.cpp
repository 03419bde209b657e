#include "leat/net/endpoint.hpp"

#include <unordered_set>

#include <asio/ip/tcp.hpp>

#include "net/socket_address.hpp"
#include "support/leat_test.hpp"

namespace endpoint_test {

using leat::endpoint;

TEST_CASE("endpoint: parses names, addresses and paths, and prints them") {
  struct example {
    const char* text;
    const char* host;
    std::uint16_t port;
    bool is_address;
  };
  for (const example& e :
       {example{"db:5432", "db", 5432, false},
        example{"db.example.com:1", "db.example.com", 1, false},
        example{"10.0.0.7:80", "10.0.0.7", 80, true}, example{"[::1]:65535", "::1", 65535, true},
        example{"[fe80::1%lo]:80", "fe80::1%lo", 80, true}, example{"*:0", "*", 0, false}}) {
    const endpoint parsed(e.text);
    CHECK(parsed.text() == e.text);
    CHECK(parsed.host() == e.host);
    CHECK(parsed.port() == e.port);
    CHECK(parsed.is_address() == e.is_address);
    CHECK(parsed.is_name() == (!e.is_address && !parsed.is_any()));
    CHECK(parsed == endpoint(e.host, e.port));
    CHECK(parsed);
    CHECK_FALSE(parsed.is_unix());
  }
  CHECK(endpoint("[0:0:0:0:0:0:0:1]:80").text() == "[::1]:80");
  CHECK(endpoint("[::1]:80").is_ipv6());
  CHECK(endpoint("*:80").is_any());
  CHECK_FALSE(endpoint());
  CHECK(endpoint().text() == "-");
  const endpoint path("unix:/run/jobs.sock");
  CHECK(path.is_unix());
  CHECK(path.path() == "/run/jobs.sock");
  CHECK(path.host().empty());
  CHECK(path.text() == "unix:/run/jobs.sock");
  CHECK(endpoint("unix:@jobs").path() == "@jobs");
}

TEST_CASE("endpoint: converts from Asio, and is a key") {
  const auto address = asio::ip::make_address("10.0.0.7");
  CHECK(endpoint(asio::ip::tcp::endpoint(address, 80)) == endpoint("10.0.0.7:80"));
  CHECK(endpoint(asio::ip::tcp::endpoint(asio::ip::address_v6::loopback(), 1)).text() == "[::1]:1");
  CHECK(endpoint(address, 80) == endpoint("10.0.0.7:80"));
  CHECK(endpoint("10.0.0.7:80").address() == address);
  CHECK(endpoint("[fe80::1%lo]:80").address().to_v6().scope_id() != 0);
  CHECK(contains(error_of([] { static_cast<void>(endpoint("db:80").address()); }),
                 "endpoint 'db:80': it is no address: resolve() it"));
  const std::unordered_set<endpoint> some{"a:1", "a:2", "a:1"};
  CHECK(some.size() == 2);
  CHECK(endpoint("a:1") < endpoint("a:2"));
}

TEST_CASE("endpoint: rejects a text that names nothing, and quotes it") {
  struct example {
    const char* text;
    const char* why;
  };
  for (const example& e :
       {example{"db", "the port is missing: write host:port"},
        example{"db:", "the port is not a number"}, example{"db:http", "the port is not a number"},
        example{"db:-1", "the port is not a number"}, example{"db:80 ", "the port is not a number"},
        example{"db:65536", "the port is above 65535"},
        example{"db:99999999999", "the port is not a number"},
        example{":80", "the host is missing; to listen at all addresses, it is *"},
        example{"", "the port is missing: write host:port"},
        example{"::1:80", "write an IPv6 address in brackets: [address]:port"},
        example{"[::1]", "the port is missing after ']': write [address]:port"},
        example{"[::1", "the port is missing after ']': write [address]:port"},
        example{"[::g]:80", "'::g' is not an IPv6 address"},
        example{"[db]:80", "brackets are for IPv6 addresses"},
        example{"a b:80", "the host contains a space"},
        example{"http://db:80", "write an IPv6 address in brackets"}, example{"a/b:80", "a slash"},
        example{"unix:", "the path is missing"}, example{"unix:@", "the path is missing"}}) {
    INFO(e.text);
    const std::string message = error_of([&] { static_cast<void>(endpoint(e.text)); });
    CHECK(contains(message, "endpoint '" + std::string(e.text) + "': "));
    CHECK(contains(message, e.why));
  }
  CHECK(contains(error_of([] { static_cast<void>(endpoint("a\r\nb", 80)); }),
                 "endpoint 'a\\x0D\\x0Ab': the host contains a space"));
  CHECK(contains(error_of([] { static_cast<void>(endpoint("unix:/run/x", 80)); }),
                 "'unix:/run/x' is not an IPv6 address"));
  const std::string longest = "unix:/" + std::string(106, 'x');
  CHECK(endpoint(longest).path().size() == 107);
  CHECK(contains(error_of([&] { static_cast<void>(endpoint(longest + "x")); }),
                 "the path of a Unix socket has at most 107 bytes"));
}

TEST_CASE("endpoint: converts to an address of the kernel and back") {
  using leat::detail::socket_address;
  const auto converted = [](const endpoint& e) { return socket_address(e).to_endpoint(); };
  for (const char* text : {"10.0.0.7:80", "[::1]:65535", "[fe80::1%lo]:80", "unix:/run/jobs.sock",
                           "unix:@jobs", "unix:jobs"}) {
    CHECK(converted(text).text() == text);
  }
  CHECK(converted("[::ffff:10.0.0.7]:80") == endpoint("10.0.0.7:80"));
  CHECK(socket_address(endpoint("*:80")).family() == AF_INET6);
  CHECK(contains(error_of([] { static_cast<void>(socket_address(endpoint())); }), "it is empty"));
  // Names that have no text.
  socket_address zeros(endpoint("unix:@name"));
  zeros.size = sizeof zeros.local;
  CHECK_FALSE(zeros.to_endpoint());
  zeros.size = offsetof(sockaddr_un, sun_path) + 1;
  CHECK_FALSE(zeros.to_endpoint());
  socket_address file(endpoint("unix:x@file"));
  file.local.sun_path[0] = '@';
  CHECK(file.to_endpoint().text() == "unix:./@@file");
  CHECK(contains(error_of([&] { converted("[fe80::1%none0]:80"); }),
                 "this machine has no network interface 'none0'"));
}

}  // namespace endpoint_test
