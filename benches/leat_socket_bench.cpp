// TCP connections on sockets of Asio, in leat tasks: a peer of leat_net_bench.

#include "support/leat_library.hpp"
#include "support/net_loops.hpp"

int main(int argc, char** argv) {
  return bench::net_loops<bench::leat_library>::main(argc, argv, "leat, sockets of Asio");
}
