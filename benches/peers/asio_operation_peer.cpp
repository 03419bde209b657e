// Asio operations in coroutines of Asio: the peer of leat_asio_bench.

#include "support/asio_operations.hpp"
#include "support/awaitable_library.hpp"

int main(int argc, char** argv) {
  using library = bench::awaitable_library;
  return bench::asio_loops<library>::main(argc, argv, library::subject);
}
