// Asio operations in leat tasks, one thread. The peer asio_operation_peer runs the same loops.
//
// asio/timer          a wait for a timer that has expired; ns/wait
// asio/socket-pair    one of four reads and writes of 8 bytes between two sockets; ns/operation
// asio/echo-1         64 bytes to a TCP server and back, one connection at a time; ns/echo
// asio/echo-50        the same over 50 connections; ns/echo
// asio/echo-1000      the same over 1,000 connections; ns/echo
// latency/echo-N      round trips of these echoes over N connections; us

#include <asio/detached.hpp>

#include <leat/async/loop/async_run.hpp>
#include <leat/async/loop/use_task.hpp>

#include "support/asio_operations.hpp"

namespace {

struct leat_library {
  using task = leat::task<>;
  static constexpr const leat::use_task_t& token = leat::use_task;
  static void start(asio::io_context& io, task t) {
    leat::async_run(io, std::move(t), asio::detached);
  }
};

}  // namespace

int main(int argc, char** argv) {
  return bench::asio_loops<leat_library>::main(argc, argv, "leat");
}
