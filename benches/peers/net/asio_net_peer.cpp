// TCP connections in coroutines of Asio: a peer of leat_net_bench.

#include "support/awaitable_library.hpp"
#include "support/net_loops.hpp"

int main(int argc, char** argv) {
  using library = bench::awaitable_library;
  return bench::net_loops<library>::main(argc, argv, library::subject);
}
