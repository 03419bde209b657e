// leat's decoders, from files in the page cache to columns; GB/s.
//
// decode/csv        a column each of int64, float64, float32, string and int64
// decode/examples   records of 1 KiB with bytes, floats and a label; their checksums are verified

#include <cstddef>
#include <span>
#include <string>

#include <leat/leat.hpp>

#include "support/bench.hpp"
#include "support/page_cache.hpp"
#include "support/training_example.hpp"

namespace {

using leat::csv_column;
using leat::dtype;
using leat::fixed_len_feature;

leat::task<std::size_t> decode_csv(std::string path) {
  const leat::csv_decoder decoder(
      {csv_column::required(dtype::int64), csv_column::required(dtype::float64),
       csv_column::required(dtype::float32), csv_column::required(dtype::string),
       csv_column::required(dtype::int64)});
  auto reader = co_await leat::line_reader::open(path);
  leat::line_batch lines;
  std::size_t rows = 0;
  for (bool more = true; more;) {
    more = co_await reader->read_batch(lines);
    rows += decoder.decode(std::span<const std::string_view>(lines))[0].count();
  }
  co_return rows > 0 ? reader->status().size : 0;
}

leat::task<std::size_t> decode_examples(std::string path) {
  const leat::example_parser parser(
      {{"features",
        fixed_len_feature{.type = dtype::float32, .shape = {bench::training_example::features}}},
       {"image", fixed_len_feature{.type = dtype::string}},
       {"label", fixed_len_feature{.type = dtype::int64}}});
  auto reader = co_await leat::tfrecord_reader::open(path);
  leat::record_batch records;
  std::size_t rows = 0;
  for (bool more = true; more;) {
    more = co_await reader->read_batch(records);
    rows += parser.parse(std::span<const leat::byte_view>(records)).dense("label").count();
  }
  co_return rows > 0 ? reader->status().size : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  return bench::report_reading(r, "leat", [&] {
    std::size_t bytes = 0;
    for (const std::string& path : bench::files_at(r.file)) {
      bytes +=
          leat::sync_wait(r.workload == "decode/csv" ? decode_csv(path) : decode_examples(path));
    }
    return bytes;
  });
}
