// leat's decoders, which decode files in the page cache to columns. The unit is GB/s.
//
// decode/csv                 columns of int64, float64, float32, string and int64
// decode/examples            verified records of 1 KiB with bytes, floats and a label
// decode/example-fields      the records of decode/examples one by one, to values of a struct
// decode/csv/2-cores         four files, on two threads
// decode/examples/2-cores    four files, on two threads
// decode/examples-in-memory  the same 256 records repeatedly, without reads and checksums

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <leat/leat.hpp>

#include "support/bench.hpp"
#include "support/contents.hpp"
#include "support/each_file.hpp"
#include "support/page_cache.hpp"
#include "support/training_element.hpp"
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

leat::example_parser training_parser() {
  return leat::example_parser(
      {{"features",
        fixed_len_feature{.type = dtype::float32, .shape = {bench::training_example::features}}},
       {"image", fixed_len_feature{.type = dtype::string}},
       {"label", fixed_len_feature{.type = dtype::int64}}});
}

leat::task<std::size_t> decode_examples(std::string path) {
  const leat::example_parser parser = training_parser();
  auto reader = co_await leat::tfrecord_reader::open(path);
  leat::record_batch records;
  std::size_t rows = 0;
  for (bool more = true; more;) {
    more = co_await reader->read_batch(records);
    rows += parser.parse(std::span<const leat::byte_view>(records)).dense("label").count();
  }
  co_return rows > 0 ? reader->status().size : 0;
}

leat::task<std::size_t> decode_fields(std::string path) {
  using bench::training_element;
  const leat::example_fields<training_element> fields = bench::training_fields();
  auto reader = co_await leat::tfrecord_reader::open(path);
  leat::record_batch records;
  training_element element;
  std::size_t rows = 0;
  for (bool more = true; more;) {
    more = co_await reader->read_batch(records);
    for (const leat::byte_view record : records) {
      fields.parse_into(record, element);
      rows += element.label >= 0;
    }
  }
  co_return rows > 0 ? reader->status().size : 0;
}

std::size_t decode_in_memory(std::span<const leat::byte_view> records, std::size_t times) {
  const leat::example_parser parser = training_parser();
  std::size_t bytes = 0;
  for (; times > 0; --times) {
    const auto columns = parser.parse(records);
    if (columns.dense("label").count() != records.size()) return 0;
    for (const leat::byte_view record : records) bytes += record.size() + 16;
  }
  return bytes;
}

int report_in_memory(const bench::request& r) {
  const std::string file = bench::contents(bench::files_at(r.file)[0]);
  std::vector<leat::byte_view> records;
  for (const std::string_view record : bench::first_records(file)) {
    records.push_back(leat::as_bytes(record));
  }
  const std::size_t times = file.size() >> 14;
  return bench::report_reading(r, "leat", [&] { return decode_in_memory(records, times); });
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  if (r.workload == "decode/examples-in-memory") return report_in_memory(r);
  const auto decode = [&](const std::string& path) {
    if (r.workload.starts_with("decode/csv")) return leat::block_on(decode_csv(path));
    if (r.workload == "decode/example-fields") return leat::block_on(decode_fields(path));
    return leat::block_on(decode_examples(path));
  };
  return bench::report_reading(r, "leat", [&] { return bench::of_each_file(r, decode); });
}
