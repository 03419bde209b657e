// expect: as_tuple() needs a default-constructible result
// expect: acceptor.async_accept(socket, leat::use_task)
#include <asio/ip/tcp.hpp>

#include "leat/async/as_tuple.hpp"
#include "leat/async/loop/use_task.hpp"

leat::task<> run(asio::ip::tcp::acceptor& acceptor) {
  auto [ec, socket] = co_await leat::as_tuple(acceptor.async_accept(leat::use_task));
  static_cast<void>(socket);
}
