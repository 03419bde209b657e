// Reads a file with Asio's stream_file through io_uring: 256 KiB per read, one read in flight.

#include <string>
#include <vector>

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/redirect_error.hpp>
#include <asio/stream_file.hpp>
#include <asio/use_awaitable.hpp>

#include "support/bench.hpp"
#include "support/page_cache.hpp"

namespace {

asio::awaitable<void> read_file(asio::io_context& io, std::string path, std::size_t& bytes) {
  asio::stream_file file(io, path, asio::stream_file::read_only);
  std::vector<char> buffer(256 << 10);
  for (;;) {
    std::error_code ec;
    const std::size_t n = co_await file.async_read_some(
        asio::buffer(buffer), asio::redirect_error(asio::use_awaitable, ec));
    if (ec) break;
    bytes += n;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  return bench::report_reading(r, "Asio stream_file", [&] {
    asio::io_context io(1);
    std::size_t bytes = 0;
    asio::co_spawn(io, read_file(io, r.file, bytes), asio::detached);
    io.run();
    return bytes;
  });
}
