// ISA-L with all of its own checks, and zlib: the peers of leat_inflate_bench.

#include <memory>

#include <isa-l.h>
#include <zlib.h>

#include "support/bench.hpp"
#include "support/contents.hpp"

namespace {

std::vector<unsigned char> room(bench::inflate_buffer_size);

std::size_t with_isal(std::string& file) {
  const auto state = std::make_unique<inflate_state>();
  ::isal_inflate_init(state.get());
  state->crc_flag = ISAL_GZIP;
  state->next_in = reinterpret_cast<unsigned char*>(file.data());
  state->avail_in = static_cast<unsigned>(file.size());
  std::size_t bytes = 0;
  while (state->block_state != ISAL_BLOCK_FINISH) {
    state->next_out = room.data();
    state->avail_out = static_cast<unsigned>(room.size());
    if (::isal_inflate(state.get()) != ISAL_DECOMP_OK) std::abort();
    const std::size_t produced = room.size() - state->avail_out;
    if (produced == 0 && state->block_state != ISAL_BLOCK_FINISH) std::abort();  // truncated
    bytes += produced;
  }
  return bytes;
}

std::size_t with_zlib(std::string& file) {
  z_stream stream{};
  ::inflateInit2(&stream, 15 + 16);
  stream.next_in = reinterpret_cast<unsigned char*>(file.data());
  stream.avail_in = static_cast<unsigned>(file.size());
  std::size_t bytes = 0;
  int result = Z_OK;
  while (result == Z_OK) {
    stream.next_out = room.data();
    stream.avail_out = static_cast<unsigned>(room.size());
    result = ::inflate(&stream, Z_NO_FLUSH);
    bytes += room.size() - stream.avail_out;
  }
  ::inflateEnd(&stream);
  if (result != Z_STREAM_END) std::abort();
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  bench::request r = bench::parse(argc, argv);
  const bool zlib = r.workload.ends_with("/zlib");
  std::string file = bench::contents(r.file);
  const auto run = [&] { return zlib ? with_zlib(file) : with_isal(file); };
  run();
  const bench::stopwatch watch;
  const std::size_t bytes = run();
  return bench::report(r, zlib ? "zlib" : "ISA-L",
                       static_cast<double>(bytes) / watch.seconds() / 1e9, "GB/s");
}
