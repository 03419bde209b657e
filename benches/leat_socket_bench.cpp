// TCP connections on sockets of Asio, in leat tasks: a peer of leat_net_bench.

#include <asio/detached.hpp>

#include <leat/async/loop/async_run.hpp>
#include <leat/async/loop/use_task.hpp>

#include "support/net_loops.hpp"

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
  return bench::asio_net_loops<leat_library>::main(argc, argv, "leat, sockets of Asio");
}
