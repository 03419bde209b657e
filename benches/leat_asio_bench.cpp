// Asio operations in leat tasks, one thread. The peer asio_operation_peer runs the same loops.
//
// asio/timer          a wait for a timer that has expired; ns/wait
// asio/socket-pair    one of four reads and writes of 8 bytes between two sockets; ns/operation
// asio/echo-1         64 bytes to a TCP server and back, one connection at a time; ns/echo
// asio/echo-50        the same over 50 connections; ns/echo
// asio/echo-1000      the same over 1,000 connections; ns/echo
// latency/echo-N      round trips of these echoes over N connections; us

#include "support/asio_operations.hpp"
#include "support/leat_library.hpp"

int main(int argc, char** argv) {
  return bench::asio_loops<bench::leat_library>::main(argc, argv, "leat");
}
