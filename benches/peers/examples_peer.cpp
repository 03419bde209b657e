// Parses Examples into columns with protobuf's generated code. All records share one message.

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "example.pb.h"
#include "support/bench.hpp"
#include "support/contents.hpp"
#include "support/each_file.hpp"
#include "support/page_cache.hpp"
#include "support/record_loop.hpp"

namespace {

struct columns {
  std::vector<float> features;
  std::vector<std::string> images;
  std::vector<std::int64_t> labels;
};

// Decodes one record per call.
class decoder {
 public:
  void operator()(const char* data, std::size_t size) {
    if (rows_.labels.size() == 256) rows_ = {};
    if (!message_.ParseFromArray(data, static_cast<int>(size))) std::abort();
    auto& all = *message_.mutable_features()->mutable_feature();
    const auto& features = all.at("features").float_list().value();
    rows_.features.insert(rows_.features.end(), features.begin(), features.end());
    rows_.images.push_back(std::move(*all.at("image").mutable_bytes_list()->mutable_value(0)));
    rows_.labels.push_back(all.at("label").int64_list().value(0));
    bytes_ += size + 16;
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  leat::oracle::Example message_;
  columns rows_;
  std::size_t bytes_ = 0;
};

std::size_t decode(const std::string& path) {
  decoder all;
  bench::for_each_record(path, std::ref(all));
  return all.bytes();
}

std::size_t decode_in_memory(const std::vector<std::string_view>& records, std::size_t times) {
  decoder all;
  for (; times > 0; --times) {
    for (const std::string_view record : records) all(record.data(), record.size());
  }
  return all.bytes();
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  if (r.workload == "decode/examples-in-memory") {
    const std::string file = bench::contents(bench::files_at(r.file)[0]);
    const auto records = bench::first_records(file);
    const std::size_t times = file.size() >> 14;
    return bench::report_reading(r, "protobuf", [&] { return decode_in_memory(records, times); });
  }
  return bench::report_reading(r, "protobuf", [&] { return bench::of_each_file(r, decode); });
}
