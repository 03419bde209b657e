// Reads any bytes as a file of comma-separated values, in chunks of any size. The reader returns
// the records and the reports of the definition, and csv_decoder can split each record into fields.
// The first four bytes select the options.

#include "leat/io/reader/csv_reader.hpp"

#include <string>
#include <vector>

#include "fuzz/in_memory.hpp"
#include "leat/codec/csv/csv_decoder.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size < 4) return 0;
  leat::csv_reader_options options;
  options.delimiter = (data[0] & 1) != 0 ? ';' : ',';
  options.quotes = (data[0] & 2) == 0;
  options.skip_blank_lines = (data[0] & 4) == 0;
  options.skip_header_records = (data[0] >> 3) & 3;
  options.corruption.policy = static_cast<leat::corruption_policy>((data[0] >> 5) & 3);
  options.compression = leat::compression::none;
  options.corruption.max_reports = size;
  if (data[1] > 0) options.max_record_size = data[1];
  options.read.chunk_size = leat_test::piece_size(data[2], size);
  const std::string file(reinterpret_cast<const char*>(data) + 4, size - 4);
  std::vector<leat_test::left_out> reports;
  options.corruption.on_report = [&](const leat::corruption_report& r) {
    reports.push_back({r.offset, r.index, r.skipped});
  };
  const auto found = leat_test::read_in_memory<leat::csv_reader>(file, options);
  std::vector<leat_test::left_out> expected_reports;
  const auto expected = leat_test::slow_csv(file, options, expected_reports);
  leat_test::require(leat_test::difference(found, expected).empty());
  leat_test::require(reports == expected_reports);
  const leat::csv_options same = {.delimiter = options.delimiter, .quotes = options.quotes};
  for (const std::string& record : found.records) {
    // The field before it hides what a header may begin with: a byte order mark.
    static_cast<void>(
        leat::csv_decoder::header_names(std::string("x") + options.delimiter + record, same));
  }
  return 0;
}
