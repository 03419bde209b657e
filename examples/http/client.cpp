/// An HTTP client of Boost.Beast in leat tasks: a pool of connections, a deadline for each request,
/// and hedging.
///
///     http_client url=http://localhost:8080/index.html
///     http_client url=https://localhost:8443/ authorities=ca.pem count=100 connections=8 hedge=20
///
/// Sends `count` requests, at most `connections` of them at a time. A request fails if it takes
/// longer than `deadline` ms. With `hedge`, a request is sent a second time if it has had a
/// connection for as many ms, but no response. Prints the body of a single response, or the numbers
/// of responses by status. The exit status is 0 if each request was answered.

#include <charconv>
#include <iostream>
#include <map>

#include "pool.hpp"
#include "run_server.hpp"

namespace {

using namespace http_client;

struct settings {
  std::string authority, host, target;  // authority: the host and the port, if the URL has one
  std::uint16_t port = 0;
  std::size_t count = 1, connections = 8;
  milliseconds deadline = 10s, hedge = 0s;  // hedge 0: none
};

struct totals {
  std::map<unsigned, long> statuses = {};
  long failures = 0;
};

//! [request]
template <class Stream>
leat::task<> request(pool<Stream>& p, const settings& s, totals& sum) try {
  auto getting = s.hedge > 0ms ? get_hedged(p, s.target, s.hedge) : p.get(s.target);
  const response r = co_await leat::with_timeout(std::move(getting), s.deadline);
  ++sum.statuses[r.result_int()];
  if (s.count == 1) std::cout << r.body();
} catch (const std::exception& e) {
  if (leat::this_task::stop_requested()) throw;  // of the program
  if (++sum.failures <= 3) std::cerr << s.target << ": " << e.what() << std::endl;
}

template <class Stream>
leat::task<int> run(settings s, std::function<leat::task<Stream>()> open) {
  pool<Stream> p(s.authority, s.connections, std::move(open));
  totals sum;
  std::vector<leat::task<>> requests;
  for (std::size_t i = 0; i < s.count; ++i) requests.push_back(request(p, s, sum));
  co_await leat::when_all(std::move(requests));
  if (s.count > 1) {
    for (const auto& [status, n] : sum.statuses) std::cout << status << ": " << n << '\n';
    std::cout << "failed: " << sum.failures << "\nconnections: " << p.opened() << '\n';
  }
  co_return sum.failures > 0 ? 1 : 0;
}
//! [/request]

//! [open]
leat::task<int> run_tls(settings s, std::string authorities) {
  auto tls = network::tls_client(authorities);
  const auto open = [&] { return network::connect(s.host, s.port, tls); };
  co_return co_await run<network::tls_stream>(s, open);
}

leat::task<int> run_plain(settings s) {
  const auto open = [&] { return network::connect(s.host, s.port); };
  co_return co_await run<network::socket>(s, open);
}
//! [/open]

// Splits a URL such as https://localhost:8443/path. Returns whether it is one of TLS.
bool parse_url(std::string_view url, settings& s) {
  const bool is_tls = url.starts_with("https://");
  if (!is_tls && !url.starts_with("http://"))
    throw std::invalid_argument("url: not http:// or https://");
  url.remove_prefix(url.find("//") + 2);
  const std::string_view origin = url.substr(0, url.find_first_of("/?#"));
  const auto bracket = origin.find(']');  // of an IPv6 address, such as [::1]
  const auto colon = origin.find(':', bracket == origin.npos ? 0 : bracket);
  s.authority = origin;
  s.host = origin.substr(0, colon);
  if (s.host.starts_with('[') && s.host.ends_with(']')) s.host = s.host.substr(1, bracket - 1);
  if (s.host.empty()) throw std::invalid_argument("url: the host is missing");
  s.port = is_tls ? 443 : 80;
  if (colon != origin.npos) {
    const std::string_view port = origin.substr(colon + 1);
    const auto [end, ec] = std::from_chars(port.data(), port.data() + port.size(), s.port);
    if (ec != std::errc() || end != port.data() + port.size() || s.port == 0)
      throw std::invalid_argument("url: '" + std::string(port) + "' is not a port");
  }
  url = url.substr(0, url.find('#')).substr(origin.size());
  s.target = (url.starts_with('/') ? "" : "/") + std::string(url);
  return is_tls;
}

}  // namespace

int main(int argc, char** argv) try {
  network::arguments args(argc, argv);
  settings s;
  s.count = args.get("count", s.count);
  s.connections = args.get("connections", s.connections);
  s.deadline = args.get("deadline", s.deadline);
  s.hedge = args.get("hedge", s.hedge);
  const bool is_tls = parse_url(args.get("url", std::string()), s);
  const std::string authorities = args.get("authorities", std::string());
  args.require_no_others();
  return leat::run([&] { return is_tls ? run_tls(s, authorities) : run_plain(s); });
} catch (const std::exception& e) {
  std::cerr << "error: " << e.what() << '\n';
  return 2;
}
