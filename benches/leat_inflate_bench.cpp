// leat's inflater, with the compressed file in memory. The unit is GB of output per second.
//
// inflate/gzip   rows of numbers and words, into buffers of 256 KiB

#include <leat/leat.hpp>

#include "support/bench.hpp"
#include "support/contents.hpp"

namespace {

std::size_t inflate(const std::string& file) {
  const auto inflater = leat::make_decompressor(leat::compression::gzip);
  static std::vector<std::byte> room(bench::inflate_buffer_size);
  leat::byte_view in = leat::as_bytes(file);
  leat::decompression_result r;
  do {
    r = inflater->decompress(in, room);
    in = in.subspan(r.consumed);
  } while (r.status == leat::decompression_status::output_full);
  if (inflater->finish().status != leat::decompression_status::complete) std::abort();
  return inflater->bytes_produced();
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  if (r.workload != "inflate/gzip") bench::unknown(r);
  const std::string file = bench::contents(r.file);
  inflate(file);
  const bench::stopwatch watch;
  const std::size_t bytes = inflate(file);
  return bench::report(r, "leat", static_cast<double>(bytes) / watch.seconds() / 1e9, "GB/s");
}
