#pragma once

// The sockets of the HTTP examples. Only this file makes them, so the same programs can run on
// another network.

#include <stdexcept>
#include <string>
#include <string_view>

#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <leat/leat.hpp>

namespace network {

namespace asio = boost::asio;
using asio::ip::tcp;

//! [types]
// A task awaits an operation of these types without a token: `co_await s.async_read_some(buffer)`.
using socket = leat::use_task_t::as_default_on_t<tcp::socket>;
using acceptor = leat::use_task_t::as_default_on_t<tcp::acceptor>;
using tls_stream = asio::ssl::stream<socket>;
//! [/types]

/// Creates an acceptor for 127.0.0.1 on the calling task's scheduler. Port 0 is any free port.
inline acceptor listen(std::uint16_t port) {
  const auto executor = leat::get_executor(leat::this_task::get_scheduler());
  return acceptor(executor, {asio::ip::address_v4::loopback(), port});
}

/// Connects to one of the addresses of a host. A timeout does not end getaddrinfo(), so an address
/// in digits is used without it.
inline leat::task<socket> connect(std::string host, std::uint16_t port) {
  const auto executor = leat::get_executor(leat::this_task::get_scheduler());
  tcp::resolver::results_type addresses;
  boost::system::error_code ec;
  const auto address = asio::ip::make_address(host, ec);
  if (!ec) {
    addresses = tcp::resolver::results_type::create({address, port}, host, "");
  } else {
    tcp::resolver resolver(executor);
    addresses = co_await resolver.async_resolve(host, std::to_string(port), leat::use_task);
  }
  socket s(executor);
  co_await asio::async_connect(s, addresses);
  s.set_option(tcp::no_delay(true));
  co_return s;
}

/// Returns the settings of a TLS server with a certificate and its key in PEM files.
inline asio::ssl::context tls_server(const std::string& certificate, const std::string& key) {
  asio::ssl::context tls(asio::ssl::context::tls_server);
  tls.set_options(asio::ssl::context::no_tlsv1 | asio::ssl::context::no_tlsv1_1);
  tls.use_certificate_chain_file(certificate);
  tls.use_private_key_file(key, asio::ssl::context::pem);
  return tls;
}

/// Returns the settings of a TLS client that accepts only servers whose certificate an authority
/// has signed: one in the PEM file, or one that the system trusts if the name is empty.
inline asio::ssl::context tls_client(const std::string& authorities) {
  asio::ssl::context tls(asio::ssl::context::tls_client);
  tls.set_options(asio::ssl::context::no_tlsv1 | asio::ssl::context::no_tlsv1_1);
  tls.set_verify_mode(asio::ssl::verify_peer);
  if (authorities.empty()) {
    tls.set_default_verify_paths();
  } else {
    tls.load_verify_file(authorities);
  }
  return tls;
}

/// Connects and performs the TLS handshake, which checks that the certificate is that of the host.
inline leat::task<tls_stream> connect(std::string host, std::uint16_t port,
                                      asio::ssl::context& tls) {
  tls_stream s(co_await connect(host, port), tls);
  boost::system::error_code ec;
  asio::ip::make_address(host, ec);
  if (ec && !::SSL_set_tlsext_host_name(s.native_handle(), host.c_str()))  // names, not addresses
    throw std::invalid_argument("TLS: the host name is too long");
  s.set_verify_callback(asio::ssl::host_name_verification(host));
  co_await s.async_handshake(tls_stream::client);
  co_return s;
}

}  // namespace network
