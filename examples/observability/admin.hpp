#pragma once

// Metrics and dumps over HTTP, on a thread of their own.

#include <chrono>
#include <functional>
#include <sstream>
#include <string>
#include <utility>

#include <asio/buffer.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/read_until.hpp>
#include <asio/write.hpp>
#include <leat/async.hpp>
#include <spdlog/spdlog.h>

using admin_socket = leat::use_task_t::as_default_on_t<asio::ip::tcp::socket>;
using admin_acceptor = leat::use_task_t::as_default_on_t<asio::ip::tcp::acceptor>;

inline leat::task<> answer_admin(admin_socket& client, std::function<std::string()>& metrics) {
  std::string request;
  co_await asio::async_read_until(client, asio::dynamic_buffer(request, 8192), "\r\n\r\n");
  std::string status = "200 OK", type = "text/plain";
  std::ostringstream body;
  if (request.starts_with("GET /metrics ")) {
    type = leat::prometheus_content_type;
    body << metrics();
  } else if (request.starts_with("GET /dump ")) {
    leat::dump(body);
  } else {
    status = "404 Not Found";
  }
  const std::string text = body.str();
  const std::string response = "HTTP/1.1 " + status + "\r\nContent-Type: " + type +
                               "\r\nContent-Length: " + std::to_string(text.size()) +
                               "\r\nConnection: close\r\n\r\n" + text;
  co_await asio::async_write(client, asio::buffer(response));
}

//! [admin]
// Serves one client at a time until a stop request. The functions block this thread, which has no
// other tasks, and not the loop of the application.
inline leat::task<> serve_admin(admin_acceptor acceptor, std::function<std::string()> metrics) {
  for (;;) {
    try {
      admin_socket client = co_await acceptor.async_accept();
      co_await leat::with_timeout(answer_admin(client, metrics), std::chrono::seconds(2));
      continue;
    } catch (const std::exception& e) {
      if (leat::this_task::stop_requested()) co_return;
      spdlog::warn("admin: {}", e.what());
    }
    co_await leat::sleep_for(std::chrono::milliseconds(100));  // descriptors may be missing
  }
}
//! [/admin]
