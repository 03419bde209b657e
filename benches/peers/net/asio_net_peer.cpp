// TCP connections in coroutines of Asio: a peer of leat_net_bench.

#include "support/net_loops.hpp"

namespace {

struct asio_library {
  using task = asio::awaitable<void>;
  static constexpr auto& token = asio::use_awaitable;
  static void start(asio::io_context& io, task t) {
    asio::co_spawn(io, std::move(t), asio::detached);
  }
};

#if defined(LEAT_ASIO_BOOST)
constexpr const char* subject = "boost::asio::awaitable";
#else
constexpr const char* subject = "asio::awaitable";
#endif

}  // namespace

int main(int argc, char** argv) {
  return bench::asio_net_loops<asio_library>::main(argc, argv, subject);
}
