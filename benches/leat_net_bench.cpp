// Connections of leat in leat tasks, one thread. The peers run the same loops on sockets of Asio:
// leat_socket_bench in leat tasks, and asio_net_peer in coroutines of Asio.
//
// net/echo-N          64 bytes to a TCP server and back, over N connections; ns/echo
// net/connect         a connection that is made, accepted and reset; ns/connection

#include <leat/net.hpp>

#include "support/asio_operations.hpp"
#include "support/leat_library.hpp"

namespace {

using library = bench::leat_library;
using loops = bench::asio_loops<library>;

leat::task<> echo(long connections, long count) {
  leat::listener listener = co_await leat::listen("127.0.0.1:0");
  std::vector<leat::connection> clients;
  std::vector<leat::connection> servers;
  for (long i = 0; i < connections; ++i) {
    clients.push_back(co_await leat::connect(listener.local()));
    servers.push_back(co_await listener.accept());
  }
  const long each = count / connections;
  leat::task_group tasks;
  for (std::size_t i = 0; i < clients.size(); ++i) {
    tasks.spawn(loops::serve(servers[i], each));
    tasks.spawn(loops::call(clients[i], each, nullptr));
  }
  co_await tasks.join();
}

leat::task<> accept_all(leat::listener& listener, long count) {
  for (long i = 0; i < count; ++i) static_cast<void>(co_await listener.accept());
}
leat::task<> connect_all(leat::endpoint to, long count) {
  for (long i = 0; i < count; ++i) {
    leat::connection c = co_await leat::connect(to);
    c.reset();
  }
}
leat::task<> connect(long count) {
  leat::listener listener = co_await leat::listen("127.0.0.1:0");
  leat::task_group tasks;
  tasks.spawn(accept_all(listener, count));
  tasks.spawn(connect_all(listener.local(), count));
  co_await tasks.join();
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  bench::pin(0);
  bench::raise_descriptor_limit();
  const double each = bench::nanoseconds_each(r, [&](long count) {
    asio::io_context io{1};
    if (r.workload == "net/connect") {
      library::start(io, connect(count));
    } else if (r.workload.starts_with("net/echo-")) {
      library::start(io, echo(bench::number_of(r), count));
    } else {
      bench::unknown(r);
    }
    io.run();
  });
  return bench::report(r, "leat", each, "ns/item");
}
