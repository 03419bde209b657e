// A program that uses the installed leat-tls.

#include <string>

#include <leat/leat.hpp>
#include <leat/net.hpp>
#include <leat/tls.hpp>

namespace {

leat::task<int> shake_hands_with_a_plain_client() {
  leat::listener l = co_await leat::listen("127.0.0.1:0");
  leat::connection client = co_await leat::connect(l.local());
  leat::connection server = co_await l.accept();
  const auto context = leat::tls_context::client();
  co_await asio::async_write(client, asio::buffer("no TLS\r\n", 8), leat::use_task);
  try {
    co_await leat::tls_connect(std::move(server), context, "leat.test");
  } catch (const leat::failure& e) {
    const std::string text = e.what();
    co_return text.find("wrong version number") == std::string::npos ? 1 : 0;
  }
  co_return 1;
}

}  // namespace

int main() { return leat::block_on(shake_hands_with_a_plain_client()); }
