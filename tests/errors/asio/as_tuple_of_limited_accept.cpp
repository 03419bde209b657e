// expect: as_tuple() needs a default-constructible result
#include <chrono>

#include <asio/ip/tcp.hpp>

#include "leat/async/as_tuple.hpp"
#include "leat/async/loop/use_task.hpp"

leat::task<> run(asio::ip::tcp::acceptor& acceptor) {
  using std::chrono::seconds;
  auto [ec, socket] = co_await leat::as_tuple(
      leat::with_timeout(acceptor.async_accept(leat::use_task), seconds(1)));
  static_cast<void>(socket);
}
